package nft

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// dumpTries bounds how often a dump is repeated that the kernel interrupted
// because something changed meanwhile.
const dumpTries = 10

// ReadBack reads nearside's table of a family from the kernel. It returns nil
// if there is no such table. Everything in the table is read, also what
// someone else put there, so that Diff can take it out again; the elements of
// sets that are not nearside's are passed over.
func (c *Conn) ReadBack(ctx context.Context, f Family) (*Ruleset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := c.readOnce(f)
		if !errors.Is(err, errInterrupted) || try == dumpTries {
			return r, err
		}
	}
}

// errInterrupted: a list changed while the kernel wrote it out.
var errInterrupted = errors.New("the table kept changing while it was read")

// readOnce reads the table once. The generation is asked for first and last:
// only if it stayed the same do the parts belong together.
func (c *Conn) readOnce(f Family) (*Ruleset, error) {
	before, err := c.generation()
	if err != nil {
		return nil, err
	}
	exists, flags, err := c.findTable(f)
	if err != nil || !exists {
		return nil, err
	}
	r := &Ruleset{Family: f, generation: before, foreign: flags != 0}
	if err = c.readChains(r); err != nil {
		return nil, err
	}
	if err = c.readSets(r); err != nil {
		return nil, err
	}
	after, err := c.generation()
	if err != nil {
		return nil, err
	}
	if after != before {
		return nil, errInterrupted
	}
	return r, nil
}

// generation returns the number that the kernel counts up at every commit.
func (c *Conn) generation() (gen uint32, err error) {
	err = c.request(unix.NFT_MSG_GETGEN, unix.NFT_MSG_NEWGEN, unix.AF_UNSPEC, 0, nil, func(b []byte) {
		if v := findAttr(b, unix.NFTA_GEN_ID); len(v) == 4 {
			gen = binary.BigEndian.Uint32(v)
		}
	})
	return gen, wrapRead(opReadGeneration, "nf_tables", err)
}

// opReadGeneration is the first thing that is asked of nf_tables.
const opReadGeneration = "read generation of"

// findTable looks for the table. Ours has no flags; one that is dormant, say,
// serves nothing.
func (c *Conn) findTable(f Family) (exists bool, flags uint32, err error) {
	var b nlBuffer
	b.attrString(unix.NFTA_TABLE_NAME, TableName)
	err = c.request(unix.NFT_MSG_GETTABLE, unix.NFT_MSG_NEWTABLE, f.proto(), 0, b.buf, func(b []byte) {
		exists, flags = true, uint32Attr(b, unix.NFTA_TABLE_FLAGS)
	})
	if errors.Is(err, unix.ENOENT) {
		return false, 0, nil
	}
	return exists, flags, wrapRead("look for table", f.String()+" "+TableName, err)
}

// readChains reads chains and their rules.
func (c *Conn) readChains(r *Ruleset) error {
	f := r.Family
	err := c.request(unix.NFT_MSG_GETCHAIN, unix.NFT_MSG_NEWCHAIN, f.proto(), netlink.Dump, nil, func(b []byte) {
		// A chain that is part of a rule goes with it.
		if stringAttr(b, unix.NFTA_CHAIN_TABLE) == TableName && uint32Attr(b, chainFlags)&chainOfRule == 0 {
			r.Chains = append(r.Chains, parseChain(b))
		}
	})
	if err != nil {
		return wrapRead("list chains of table", f.String()+" "+TableName, err)
	}
	chains := r.chains()
	var filter nlBuffer
	filter.attrString(unix.NFTA_RULE_TABLE, TableName)
	err = c.request(unix.NFT_MSG_GETRULE, unix.NFT_MSG_NEWRULE, f.proto(), netlink.Dump, filter.buf, func(b []byte) {
		if stringAttr(b, unix.NFTA_RULE_TABLE) != TableName {
			return
		}
		if chain := chains[stringAttr(b, unix.NFTA_RULE_CHAIN)]; chain != nil {
			kept := slices.Clone(findAttr(b, unix.NFTA_RULE_EXPRESSIONS))
			chain.Rules = append(chain.Rules, Rule{kept: kept})
		}
	})
	return wrapRead("list rules of table", f.String()+" "+TableName, err)
}

const (
	chainFlags  = 10     // NFTA_CHAIN_FLAGS of linux/netfilter/nf_tables.h
	chainOfRule = 1 << 2 // NFT_CHAIN_BINDING
)

func parseChain(b []byte) *Chain {
	c := &Chain{Name: stringAttr(b, unix.NFTA_CHAIN_NAME)}
	hook := findAttr(b, unix.NFTA_CHAIN_HOOK)
	if hook == nil {
		return c
	}
	c.Base = &BaseChain{
		Hook:     Hook(uint32Attr(hook, unix.NFTA_HOOK_HOOKNUM)),
		Priority: int32(uint32Attr(hook, unix.NFTA_HOOK_PRIORITY)),
	}
	if stringAttr(b, unix.NFTA_CHAIN_TYPE) != chainTypeNAT || uint32Attr(b, unix.NFTA_CHAIN_POLICY) != policyAccept {
		c.Base.Hook = hookForeign
	}
	return c
}

// hookForeign marks a base chain that is not of nearside's type or policy.
const hookForeign Hook = 0xffff

// readSets reads sets and the elements of those that are nearside's.
func (c *Conn) readSets(r *Ruleset) error {
	f := r.Family
	known := layoutSets(f)
	var counts []int
	var filter nlBuffer
	filter.attrString(unix.NFTA_SET_TABLE, TableName)
	err := c.request(unix.NFT_MSG_GETSET, unix.NFT_MSG_NEWSET, f.proto(), netlink.Dump, filter.buf, func(b []byte) {
		if stringAttr(b, unix.NFTA_SET_TABLE) == TableName && uint32Attr(b, unix.NFTA_SET_FLAGS)&unix.NFT_SET_ANONYMOUS == 0 {
			r.Sets = append(r.Sets, parseSet(b, knownSet(f, known[:], stringAttr(b, unix.NFTA_SET_NAME))))
			counts = append(counts, parseCount(b))
		}
	})
	if err != nil {
		return wrapRead("list sets of table", f.String()+" "+TableName, err)
	}
	for i, s := range r.Sets {
		if s.decl.key == "" || s.decl.dynamic {
			continue
		}
		if err := c.readElements(f, s, counts[i]); err != nil {
			return wrapRead("list elements of", f.String()+" "+TableName+" "+s.Name, err)
		}
	}
	return nil
}

// knownSet returns the set of nearside's that has the name, or nil.
func knownSet(f Family, layout []*Set, name string) *Set {
	if memory, ok := memoryOf(name); ok {
		clients, members := memorySets(f, memory)
		if name == clients.Name {
			return clients
		}
		return members
	}
	for _, s := range layout {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// foreignSet stands for the declaration of a set that is not as nearside makes
// it.
const foreignSet = "# not nearside's"

// parseSet recognises a known set; any other has no key and is of no further
// interest.
func parseSet(b []byte, known *Set) *Set {
	s := &Set{Name: stringAttr(b, unix.NFTA_SET_NAME), decl: setDecl{typeLine: foreignSet}}
	if known == nil {
		return s
	}
	d := &known.decl
	same := uint32Attr(b, unix.NFTA_SET_FLAGS) == d.flags() &&
		uint32Attr(b, unix.NFTA_SET_KEY_TYPE) == fieldsType(d.key) &&
		uint32Attr(b, unix.NFTA_SET_KEY_LEN) == uint32(fieldsLen(d.key)) &&
		string(findAttr(b, unix.NFTA_SET_USERDATA)) == d.userData &&
		(!d.isMap() || uint32Attr(b, unix.NFTA_SET_DATA_TYPE) == d.dataType())
	if same {
		s.decl = known.decl
		s.records = newRecords(&s.decl)
	}
	return s
}

// readElements reads a set's elements until it is certain to have them all.
// While the kernel moves a set to a larger hash table, which it does in the
// background after a commit, a list may lack elements or have some twice. A
// list is believed if it has as many as the kernel counts. Where the kernel
// does not tell (before Linux 6.16), or a count stays off, two lists in a row
// have to be equal.
func (c *Conn) readElements(f Family, s *Set, counted int) error {
	previous := newRecords(&s.decl)
	for try := range dumpTries {
		if err := c.dumpElements(f, s); err != nil {
			return err
		}
		settled := try > 0 && bytes.Equal(s.records.buf, previous.buf)
		if s.Len() == counted || settled && (counted == countUnknown || try >= dumpTries/2) {
			return nil
		}
		previous, s.records = s.records, newRecords(&s.decl)
		time.Sleep(time.Millisecond << try)
	}
	return errInterrupted
}

func (c *Conn) dumpElements(f Family, s *Set) error {
	var filter nlBuffer
	filter.attrString(unix.NFTA_SET_ELEM_LIST_TABLE, TableName)
	filter.attrString(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
	err := c.request(unix.NFT_MSG_GETSETELEM, unix.NFT_MSG_NEWSETELEM, f.proto(), netlink.Dump, filter.buf, func(b []byte) {
		eachAttr(findAttr(b, unix.NFTA_SET_ELEM_LIST_ELEMENTS), func(_ uint16, elem []byte) bool {
			parseElement(s, elem)
			return true
		})
	})
	recs := s.records.sorted()
	s.records = recs.unique()
	return err
}

// setCountAttr is NFTA_SET_COUNT of linux/netfilter/nf_tables.h.
const setCountAttr = 20

// countUnknown stands for the count of a kernel that does not tell it.
const countUnknown = -1

func parseCount(b []byte) int {
	if v := findAttr(b, setCountAttr); len(v) == 4 {
		return int(binary.BigEndian.Uint32(v))
	}
	return countUnknown
}

// elementOfAll is NFT_SET_ELEM_CATCHALL of linux/netfilter/nf_tables.h.
const elementOfAll = 1 << 1

// parseElement adds an element to a set. One that stands for all keys is not
// ours, cannot be put into records, and makes the whole set foreign.
func parseElement(s *Set, elem []byte) {
	if uint32Attr(elem, unix.NFTA_SET_ELEM_FLAGS)&elementOfAll != 0 {
		s.decl.typeLine = foreignSet
		return
	}
	rec := s.records.extend()
	copy(rec, findAttr(findAttr(elem, unix.NFTA_SET_ELEM_KEY), unix.NFTA_DATA_VALUE))
	data := findAttr(elem, unix.NFTA_SET_ELEM_DATA)
	if !s.decl.verdicts {
		copy(rec[s.records.keyLen:], findAttr(data, unix.NFTA_DATA_VALUE))
		return
	}
	verdict := findAttr(data, unix.NFTA_DATA_VERDICT)
	kind := verdictForeign
	switch int32(uint32Attr(verdict, unix.NFTA_VERDICT_CODE)) {
	case unix.NFT_GOTO:
		kind = verdictGoto
	case 0: // NF_DROP
		kind = verdictDrop
	}
	putVerdict(rec[s.records.keyLen:], kind, stringAttr(verdict, unix.NFTA_VERDICT_CHAIN))
}

// request sends one request and calls each with the attributes of every answer
// of the wanted type.
func (c *Conn) request(typ, want uint16, family byte, flags netlink.HeaderFlags, attrs []byte, each func(attrs []byte)) error {
	req := netlink.Message{
		Header: netlink.Header{
			Type:  netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | typ),
			Flags: netlink.Request | flags,
		},
		Data: append([]byte{family, unix.NFNETLINK_V0, 0, 0}, attrs...),
	}
	if _, err := c.lists.Send(req); err != nil {
		return err
	}
	interrupted := false
	for m, err := range c.lists.ReceiveIter() {
		if err != nil {
			return err
		}
		if m.Header.Flags&unix.NLM_F_DUMP_INTR != 0 {
			interrupted = true
		}
		if uint16(m.Header.Type) == unix.NFNL_SUBSYS_NFTABLES<<8|want && len(m.Data) >= 4 {
			each(m.Data[4:])
		}
	}
	if interrupted {
		return errInterrupted
	}
	return nil
}

// wrapRead gives an error of reading its place.
func wrapRead(op, object string, err error) error {
	var errno syscall.Errno
	switch {
	case err == nil || errors.Is(err, errInterrupted):
		return err
	case errors.As(err, &errno):
		if errno == unix.EINTR {
			return errInterrupted
		}
		e := &Error{Op: op, Object: object, Errno: errno}
		if operr, ok := errors.AsType[*netlink.OpError](err); ok {
			e.Message = operr.Message
		}
		return e
	}
	return fmt.Errorf("%s %s: %w", op, object, err)
}

func stringAttr(b []byte, typ uint16) string {
	return strings.TrimRight(string(findAttr(b, typ)), "\x00")
}

func uint32Attr(b []byte, typ uint16) uint32 {
	if v := findAttr(b, typ); len(v) == 4 {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}
