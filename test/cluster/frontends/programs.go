package frontends

import (
	"encoding/json"
	"fmt"
)

// programs are the chains that verdicts lead to, by their names.
type programs map[string]program

// program is what a chain does with a connection: it draws a slot, or refuses.
type program struct {
	draw    *draw
	refusal string
}

// expression is one of a rule, as far as programs consist of it.
type expression struct {
	Reject *json.RawMessage
	DNAT   *struct {
		Addr struct {
			Map struct {
				Key struct {
					Concat []struct{ Numgen *draw }
				}
			}
		}
	}
}

// programs reads what the chains of the listing do.
func (l *listing) programs() (programs, error) {
	chains := programs{}
	for _, object := range l.Objects {
		if object.Rule == nil {
			continue
		}
		for _, raw := range object.Rule.Expressions {
			var e expression
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, fmt.Errorf("decode a rule of chain %q: %w", object.Rule.Chain, err)
			}
			// The first rule decides: a draw always finds its slot, as from
			// checks, so that rules after it are for moments of change only.
			if _, decided := chains[object.Rule.Chain]; decided {
				continue
			}
			if p := e.program(); p != nil {
				chains[object.Rule.Chain] = *p
			}
		}
	}
	return chains, nil
}

func (e *expression) program() *program {
	if e.Reject != nil {
		return &program{refusal: Reject}
	}
	if e.DNAT == nil {
		return nil
	}
	for _, part := range e.DNAT.Addr.Map.Key.Concat {
		if part.Numgen != nil {
			return &program{draw: part.Numgen}
		}
	}
	return nil
}

// verdict returns what the verdict of a map's element comes to.
func (p programs) verdict(raw json.RawMessage) (program, error) {
	var verdict map[string]json.RawMessage
	if err := json.Unmarshal(raw, &verdict); err != nil {
		return program{}, fmt.Errorf("decode verdict %s: %w", raw, err)
	}
	if _, ok := verdict["drop"]; ok {
		return program{refusal: Drop}, nil
	}
	var jump struct{ Target string }
	if err := json.Unmarshal(verdict["goto"], &jump); err != nil {
		return program{}, fmt.Errorf("decode verdict %s, neither drop nor goto: %w", raw, err)
	}
	chain, ok := p[jump.Target]
	if !ok {
		return program{}, fmt.Errorf("it leads to chain %q, which neither draws a slot nor rejects", jump.Target)
	}
	return chain, nil
}
