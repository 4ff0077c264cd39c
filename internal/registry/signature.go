package registry

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// The labels of signers. Terraform has three, OpenTofu one [terraform 1.11
// internal/getproviders/package_authentication.go].
const (
	labelHashiCorp  = "HashiCorp"
	labelPartner    = "partner"
	labelSelfSigned = "self-signed"
	labelSigned     = "signed"
	labelUnsigned   = "unsigned"
)

// keyFiles are HashiCorp's public keys that are built into Terraform [terraform 1.11
// internal/getproviders/public_keys.go]. One signs its releases (fingerprint C874 011F 0AB4
// 0511 0D02 1055 3436 5D94 72D7 468F, also at hashicorp.com/security). The other one signs
// the keys of partners. signedBy says why their expiry does not matter.
//
//go:embed keys
var keyFiles embed.FS

// trust decides which label Terraform gives a signature. The label does not affect the lock
// file.
type trust struct{ hashicorp, partners openpgp.EntityList }

// hashicorpTrust reads the built-in keys at their first use.
var hashicorpTrust = sync.OnceValue(func() trust {
	read := func(name string) openpgp.EntityList {
		file, err := keyFiles.Open("keys/" + name)
		if err != nil {
			panic(err) // the files are embedded
		}
		defer file.Close()
		keys, err := openpgp.ReadArmoredKeyRing(file)
		if err != nil {
			panic(fmt.Sprintf("keys/%s: %v", name, err)) // a test reads them
		}
		return keys
	}
	return trust{hashicorp: read("hashicorp.asc"), partners: read("partners.asc")}
})

// trustsUnsigned reports whether OpenTofu accepts the registry without a signature. It does
// so only for its own registry, which serves providers whose keys it does not know
// [opentofu 1.12 internal/getproviders/package_authentication.go].
func trustsUnsigned(tool provider.Tool, addr provider.Addr, opts Options) bool {
	return tool.Name == provider.OpenTofu && addr.Host == provider.OpenTofu.DefaultHost() && !opts.EnforceValidation
}

// signed is a checksum list with its signature and the keys that the registry announces for
// it, in the registry's order.
type signed struct {
	list      checksums
	signature []byte
	keys      []signingKey
}

// digestOfKeys identifies a list of keys.
func digestOfKeys(keys []signingKey) (digest [sha256.Size]byte) {
	h := sha256.New()
	for _, k := range keys {
		fmt.Fprintf(h, "%d %s %d %s\n", len(k.ASCIIArmor), k.ASCIIArmor, len(k.TrustSignature), k.TrustSignature)
	}
	h.Sum(digest[:0])
	return digest
}

// byTerraform verifies as Terraform does: the first key that made the signature decides.
// Any error is final, except that the signature is another key's [terraform 1.11
// internal/getproviders/package_authentication.go].
func (s signed) byTerraform(t trust) (provider.Signer, error) {
	for _, key := range s.keys {
		signer, err := s.verify(key)
		if errors.Is(err, pgperrors.ErrUnknownIssuer) {
			continue
		}
		signer.Expired = errors.Is(err, pgperrors.ErrKeyExpired)
		if err != nil && !signer.Expired {
			return provider.Signer{}, badSignature(err)
		}
		signer.Label, err = t.label(s, key)
		return signer, err
	}
	return provider.Signer{}, badSignature(errUnknownIssuer)
}

// byOpenTofu verifies as OpenTofu does. Expired keys and signatures count only if no other
// key fits. With enforce they never count [opentofu 1.12
// internal/getproviders/package_authentication.go].
func (s signed) byOpenTofu(enforce bool) (signer provider.Signer, err error) {
	var expired error // the error of the expired signer
	for _, key := range s.keys {
		found, err := s.verify(key)
		found.Label = labelSigned
		switch {
		case err == nil:
			return found, nil
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
		case errors.Is(err, pgperrors.ErrKeyExpired) || errors.Is(err, pgperrors.ErrSignatureExpired):
			found.Expired = true
			if !signer.Expired {
				signer, expired = found, err
			}
		default:
			return provider.Signer{}, badSignature(err)
		}
	}
	switch {
	case !signer.Expired:
		return provider.Signer{}, badSignature(errUnknownIssuer)
	case enforce && signer.Ahead:
		return provider.Signer{}, badSignature(expired)
	case enforce:
		return provider.Signer{}, badSignature(errors.New("the signing key has expired, and OPENTOFU_ENFORCE_GPG_EXPIRATION is set"))
	}
	return signer, nil
}

// verify checks the signature with one announced key. It returns the key that made it, also
// with an error about expiry: the library checks expiry last.
func (s signed) verify(key signingKey) (signer provider.Signer, err error) {
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.ASCIIArmor))
	if err != nil {
		return signer, fmt.Errorf("decoding an announced key: %w", err)
	}
	entity, err := checkDetached(ring, bytes.NewReader(s.list), bytes.NewReader(s.signature))
	if entity != nil && entity.PrimaryKey != nil {
		signer.KeyID = entity.PrimaryKey.KeyIdString()
		signer.Fingerprint = fmt.Sprintf("%X", entity.PrimaryKey.Fingerprint)
	}
	_, signer.Ahead = errors.AsType[*aheadError](err)
	return signer, err
}

// aheadError is the error of a signature or a key that is newer than this machine's clock.
// The library calls it expired.
type aheadError struct {
	made, now time.Time
	err       error
}

func (e *aheadError) Error() string {
	const layout = "2006-01-02 15:04 MST"
	return fmt.Sprintf("the signature or its key was made at %s, and the clock of this machine shows %s",
		e.made.UTC().Format(layout), e.now.UTC().Format(layout))
}

func (e *aheadError) Unwrap() error { return e.err }

// checkDetached is the library's check. It wraps an error about expiry in an *aheadError if
// the time is in the future.
func checkDetached(keys openpgp.EntityList, document, signature io.Reader) (*openpgp.Entity, error) {
	sig, entity, err := openpgp.VerifyDetachedSignature(keys, document, signature, nil)
	if !errors.Is(err, pgperrors.ErrKeyExpired) && !errors.Is(err, pgperrors.ErrSignatureExpired) {
		return entity, err
	}
	made, now := sig.CreationTime, time.Now()
	if key := entity.PrimaryKey.CreationTime; key.After(made) {
		made = key
	}
	if own, _ := entity.PrimarySelfSignature(); own != nil && own.CreationTime.After(made) {
		made = own.CreationTime
	}
	if made.After(now) {
		err = &aheadError{made, now, err}
	}
	return entity, err
}

// label says who owns the key that has signed.
func (t trust) label(s signed, key signingKey) (string, error) {
	if signedBy(t.hashicorp, bytes.NewReader(s.list), bytes.NewReader(s.signature)) == nil {
		return labelHashiCorp, nil
	}
	if key.TrustSignature == "" {
		return labelSelfSigned, nil
	}
	// HashiCorp has signed the key in binary form.
	announced, err := armor.Decode(strings.NewReader(key.ASCIIArmor))
	if err != nil {
		return "", badSignature(fmt.Errorf("decoding an announced key: %w", err))
	}
	voucher, err := armor.Decode(strings.NewReader(key.TrustSignature))
	if err != nil {
		return "", badSignature(fmt.Errorf("decoding the trust signature: %w", err))
	}
	if err := signedBy(t.partners, announced.Body, voucher.Body); err != nil {
		return "", badSignature(fmt.Errorf("the trust signature of the key: %w", err))
	}
	return labelPartner, nil
}

// signedBy verifies with keys that are built into Terraform. Terraform ignores that a key
// has expired since: old releases are not signed again [terraform 1.11
// internal/getproviders/package_authentication.go].
func signedBy(keys openpgp.EntityList, document, signature io.Reader) error {
	_, err := checkDetached(keys, document, signature)
	if errors.Is(err, pgperrors.ErrKeyExpired) {
		return nil
	}
	return err
}

var errUnknownIssuer = errors.New("authentication signature from unknown issuer")

// badSignature is the error of a list with a bad signature. If the clock is behind the
// signature, nothing speaks against the list itself.
func badSignature(err error) error {
	if _, ahead := errors.AsType[*aheadError](err); ahead {
		return &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeClock, Message: "the signature of the checksum list is from the future",
				Hint: "set the clock of this machine, and run again",
			}, Err: err,
		}
	}
	return &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeBadSignature, Message: "the checksum list is not signed as the registry announces",
			Hint: "report this to the provider's author or the registry's operator",
		}, Err: err,
	}
}
