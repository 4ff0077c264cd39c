package staticeval

import (
	"errors"
	"math/big"
	"net/netip"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const addressRules = "terraform 1.11 internal/lang/funcs/cidr.go"

var (
	errNoNetwork = errors.New("it is no network in CIDR notation")
	errNoRoom    = errors.New("there are not so many in the network")
	errNoNumber  = errors.New("it must be an integer that is not too large")
)

// networkFunc is a function of a network in CIDR notation and of integers. If its
// result is a list, it takes any number of them.
func networkFunc(result cty.Type, integers int, do func(prefix netip.Prefix, numbers []*big.Int) (cty.Value, error)) function.Function {
	spec := &function.Spec{
		Params: []function.Parameter{{Name: "prefix", Type: cty.String}}, Type: function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			prefix, err := netip.ParsePrefix(args[0].AsString())
			if err != nil {
				return cty.NilVal, errNoNetwork
			}
			numbers := make([]*big.Int, len(args)-1)
			for i, arg := range args[1:] {
				numbers[i], err = integer(arg)
				if err != nil {
					return cty.NilVal, err
				}
			}
			return do(prefix.Masked(), numbers)
		},
	}
	number := function.Parameter{Name: "number", Type: cty.Number}
	spec.Params = append(spec.Params, slices.Repeat([]function.Parameter{number}, integers)...)
	if result.IsListType() {
		spec.VarParam = &number
	}
	return function.New(spec)
}

// integer is a number that fits into a host part.
func integer(v cty.Value) (*big.Int, error) {
	n, exact := v.AsBigFloat().Int(nil)
	if exact != big.Exact || n.BitLen() > 128 {
		return nil, errNoNumber
	}
	return n, nil
}

// add returns the n-th address after a, in units of 2^bits.
func add(a netip.Addr, n *big.Int, bits int) netip.Addr {
	raw := a.AsSlice()
	sum := new(big.Int).Lsh(n, uint(bits))
	sum.Add(sum, new(big.Int).SetBytes(raw))
	if sum.Sign() < 0 || sum.BitLen() > 8*len(raw) {
		return netip.Addr{}
	}
	b, _ := netip.AddrFromSlice(sum.FillBytes(raw))
	return b
}

// cidrHostFunc counts hosts from the end if the number is negative.
var cidrHostFunc = networkFunc(cty.String, 1, func(prefix netip.Prefix, numbers []*big.Int) (cty.Value, error) {
	n := numbers[0]
	hosts := new(big.Int).Lsh(big.NewInt(1), uint(prefix.Addr().BitLen()-prefix.Bits()))
	if n.Sign() < 0 {
		n = new(big.Int).Add(hosts, n)
	}
	if n.Sign() < 0 || n.Cmp(hosts) >= 0 {
		return cty.NilVal, errNoRoom
	}
	return cty.StringVal(add(prefix.Addr(), n, 0).String()), nil
})

var cidrNetmaskFunc = networkFunc(cty.String, 0, func(prefix netip.Prefix, _ []*big.Int) (cty.Value, error) {
	if !prefix.Addr().Is4() {
		return cty.NilVal, errors.New("addresses of IPv6 have no netmask")
	}
	ones, _ := netip.AddrFrom4([4]byte{255, 255, 255, 255}).Prefix(prefix.Bits())
	return cty.StringVal(ones.Addr().String()), nil
})

var cidrSubnetFunc = networkFunc(cty.String, 2, func(prefix netip.Prefix, numbers []*big.Int) (cty.Value, error) {
	bits := int(numbers[0].Int64())
	if !numbers[0].IsInt64() || bits < 0 || prefix.Bits()+bits > prefix.Addr().BitLen() || numbers[1].Sign() < 0 || numbers[1].BitLen() > bits {
		return cty.NilVal, errNoRoom
	}
	bits += prefix.Bits()
	return cty.StringVal(netip.PrefixFrom(add(prefix.Addr(), numbers[1], prefix.Addr().BitLen()-bits), bits).String()), nil
})

// cidrSubnetsFunc returns consecutive networks, each at the next place that its
// size allows.
var cidrSubnetsFunc = networkFunc(cty.List(cty.String), 0, func(within netip.Prefix, numbers []*big.Int) (cty.Value, error) {
	next := within.Addr()
	var subnets []cty.Value
	for _, n := range numbers {
		bits := int(n.Int64()) + within.Bits()
		if !n.IsInt64() || n.Int64() < 1 || n.Int64() > 32 || bits > next.BitLen() || !next.IsValid() {
			return cty.NilVal, errNoRoom
		}
		subnet := netip.PrefixFrom(next, bits)
		if start := subnet.Masked().Addr(); start != next { // the next place for a network of this size
			subnet = netip.PrefixFrom(add(start, big.NewInt(1), next.BitLen()-bits), bits)
		}
		if !subnet.Addr().IsValid() || !within.Contains(subnet.Addr()) {
			return cty.NilVal, errNoRoom
		}
		subnets = append(subnets, cty.StringVal(subnet.String()))
		next = add(subnet.Addr(), big.NewInt(1), next.BitLen()-bits)
	}
	if len(subnets) == 0 {
		return cty.ListValEmpty(cty.String), nil
	}
	return cty.ListVal(subnets), nil
})
