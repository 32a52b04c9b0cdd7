package frontends

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// Kernel reads nearside's tables of both IP families in the network namespace
// of the caller. No table gives no frontends. It runs nft and takes some tenths
// of a second at a thousand services.
func Kernel(ctx context.Context) (State, error) {
	state := State{}
	for _, family := range []string{"ip", "ip6"} {
		listing, err := list(ctx, family)
		if err != nil {
			return nil, err
		}
		if err := listing.frontends(state); err != nil {
			return nil, fmt.Errorf("read table %s nearside: %w", family, err)
		}
	}
	return state, nil
}

// listing is what `nft --json list table` prints, as far as it is needed.
type listing struct {
	Objects []struct {
		Map  *mapObject  `json:"map"`
		Rule *ruleObject `json:"rule"`
	} `json:"nftables"`
}

type mapObject struct {
	Name     string               `json:"name"`
	Elements [][2]json.RawMessage `json:"elem"` // key and data
}

type ruleObject struct {
	Chain       string            `json:"chain"`
	Expressions []json.RawMessage `json:"expr"`
}

func list(ctx context.Context, family string) (*listing, error) {
	out, err := nft(ctx, "--json", "list", "tables", family)
	if err != nil || !strings.Contains(string(out), `"nearside"`) {
		return &listing{}, err
	}
	if out, err = nft(ctx, "--json", "list", "table", family, "nearside"); err != nil {
		return nil, err
	}
	l := &listing{}
	if err := json.Unmarshal(out, l); err != nil {
		return nil, fmt.Errorf("decode what nft lists: %w", err)
	}
	return l, nil
}

func nft(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "nft", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("run nft %s (apt-get install nftables where it is missing): %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// frontends adds the frontends of the listing to state. It follows what the
// kernel would do with a connection to a cluster IP: the verdict leads to a
// chain, the chain draws the number of a slot, the slot has the backend. A slot
// that can be drawn and is not there, or is there and cannot be drawn, is an
// error: the layout is broken.
func (l *listing) frontends(state State) error {
	slots, err := l.slots()
	if err != nil {
		return err
	}
	programs, err := l.programs()
	if err != nil {
		return err
	}
	used := 0
	for _, element := range l.elements("frontends") {
		key, err := parseKey(element[0])
		if err != nil {
			return err
		}
		program, err := programs.verdict(element[1])
		if err != nil {
			return fmt.Errorf("frontend %s: %w", key, err)
		}
		if program.draw == nil {
			state[key.String()] = program.refusal
			continue
		}
		addresses, err := program.draw.from(slots, key)
		if err != nil {
			return err
		}
		state[key.String()] = backends(addresses)
		used += program.draw.Modulus
	}
	if used != len(slots) {
		return fmt.Errorf("%d slots are there, but frontends may draw only %d", len(slots), used)
	}
	return nil
}

func (l *listing) elements(name string) [][2]json.RawMessage {
	for _, object := range l.Objects {
		if object.Map != nil && object.Map.Name == name {
			return object.Map.Elements
		}
	}
	return nil
}

// key is what a client dials.
type key struct {
	address  netip.AddrPort
	protocol string
}

func (k key) String() string { return frontend(k.protocol, k.address) }

type slotKey struct {
	key
	number int
}

// slots returns the content of the map of backends.
func (l *listing) slots() (map[slotKey]string, error) {
	slots := map[slotKey]string{}
	for _, element := range l.elements("backends") {
		var number int
		k, err := parseKey(element[0], &number)
		if err != nil {
			return nil, err
		}
		var address netip.Addr
		var port uint16
		if err := parseConcat(element[1], &address, &port); err != nil {
			return nil, err
		}
		slots[slotKey{k, number}] = netip.AddrPortFrom(address, port).String()
	}
	return slots, nil
}

// draw is the range of slots that a chain draws from.
type draw struct {
	Modulus int `json:"mod"`
	Offset  int `json:"offset"`
}

// from returns the backends of a frontend that may be drawn, each as often as
// it has slots.
func (d *draw) from(slots map[slotKey]string, k key) ([]string, error) {
	var addresses []string
	for number := d.Offset; number < d.Offset+d.Modulus; number++ {
		backend, ok := slots[slotKey{k, number}]
		if !ok {
			return nil, fmt.Errorf("frontend %s may draw slot %d, which is not there", k, number)
		}
		addresses = append(addresses, backend)
	}
	return addresses, nil
}

// parseKey decodes a key of a frontend with further fields after it.
func parseKey(raw json.RawMessage, more ...any) (key, error) {
	var address netip.Addr
	var protocol string
	var port uint16
	err := parseConcat(raw, append([]any{&address, &protocol, &port}, more...)...)
	return key{netip.AddrPortFrom(address, port), protocol}, err
}

func parseConcat(raw json.RawMessage, fields ...any) error {
	var concat struct{ Concat []json.RawMessage }
	if err := json.Unmarshal(raw, &concat); err != nil {
		return fmt.Errorf("decode element %s: %w", raw, err)
	}
	if len(concat.Concat) != len(fields) {
		return fmt.Errorf("decode element %s: %d fields expected", raw, len(fields))
	}
	for i, field := range fields {
		if err := json.Unmarshal(concat.Concat[i], field); err != nil {
			return fmt.Errorf("decode element %s: %w", raw, err)
		}
	}
	return nil
}
