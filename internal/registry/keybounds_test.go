package registry

import (
	//lint:ignore SA1019 keys that registries announce may be of this kind
	"crypto/dsa"
	"crypto/rsa"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/relock-dev/relock/internal/problem"
)

// TestKeysThatTakeLongAreRefused holds that the announced keys are bounded before they
// verify anything.
func TestKeysThatTakeLongAreRefused(t *testing.T) {
	t.Parallel()
	good := signingKey{ASCIIArmor: public(validKey)}
	number := func(bits uint) *big.Int {
		return new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), bits-1), big.NewInt(1))
	}
	block := func(n int, keys ...*packet.PublicKey) signingKey {
		return signingKey{ASCIIArmor: armored(openpgp.PublicKeyType, func(w io.Writer) error {
			for range n {
				for _, k := range keys {
					if err := k.Serialize(w); err != nil {
						return err
					}
				}
			}
			return nil
		})}
	}
	rsaKey := func(bits uint) signingKey {
		return block(1, packet.NewRSAPublicKey(time.Unix(0, 0), &rsa.PublicKey{N: number(bits), E: 65537}))
	}
	dsaKey := func(p, q uint) signingKey {
		numbers := dsa.Parameters{P: number(p), Q: number(q), G: big.NewInt(2)}
		return block(1, packet.NewDSAPublicKey(time.Unix(0, 0), &dsa.PublicKey{Parameters: numbers, Y: big.NewInt(2)}))
	}
	tests := []struct {
		name string
		keys []signingKey
		want string // empty: they are accepted
	}{
		{"none", nil, ""},
		{"usual", []signingKey{good, {ASCIIArmor: public(secondKey)}}, ""},
		{"no_key", []signingKey{{ASCIIArmor: "none"}}, ""},
		{"as_many_as_may_be", slices.Repeat([]signingKey{good}, mostKeys), ""},
		{"too_many", slices.Repeat([]signingKey{good}, mostKeys+1), "more than 50 signing keys"},
		{"too_many_parts", []signingKey{block(mostPackets+2, validKey.PrimaryKey)}, "more than 1000 parts"},
		{"long_RSA", []signingKey{rsaKey(mostBits)}, ""},
		{"too_long_RSA", []signingKey{rsaKey(mostBits + 1)}, "an RSA modulus of 16385 bits"},
		{"long_DSA", []signingKey{dsaKey(mostBitsDSA, mostBitsQ)}, ""},
		{"too_long_DSA", []signingKey{dsaKey(mostBitsDSA+1, mostBitsQ)}, "DSA numbers of 3073 and 256 bits"},
		{"too_long_DSA_exponent", []signingKey{good, dsaKey(mostBitsDSA, mostBitsQ+1)}, "DSA numbers of 3072 and 257 bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := checkKeys(tt.keys)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !problem.Coded(err, problem.CodeBadAnswer)) {
				t.Errorf("checkKeys = %v, want %q", err, tt.want)
			}
		})
	}
}
