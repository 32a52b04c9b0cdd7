package nft

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// batch encodes a transaction as the messages of one netlink batch.
type batch struct {
	nlBuffer
	family Family
	seq    uint32
	last   int // where the latest message starts
	msg    int // where the message being written starts
	setIDs uint32
}

// maxElementBytes bounds the elements of one message: the length of an
// attribute has 16 bits.
const maxElementBytes = 60 << 10

// encode writes the transaction behind what buf has room for and returns the
// buffer. Sequence numbers run from seq on. Only the last operation asks for
// an acknowledgement: the kernel sends it after the commit, and a batch of any
// size is answered by one message.
func (tx *Transaction) encode(buf []byte, seq uint32) []byte {
	b := &batch{nlBuffer: nlBuffer{buf: buf[:0]}, family: tx.Family, seq: seq}
	b.edge(unix.NFNL_MSG_BATCH_BEGIN, tx.generation)
	for _, op := range tx.ops {
		b.operation(op)
	}
	flags := b.buf[b.last+6:]
	binary.NativeEndian.PutUint16(flags, binary.NativeEndian.Uint16(flags)|unix.NLM_F_ACK)
	b.edge(unix.NFNL_MSG_BATCH_END, 0)
	return b.buf
}

// edge writes the message that begins or ends the batch.
func (b *batch) edge(typ uint16, generation uint32) {
	b.beginRaw(typ, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)
	if generation != 0 {
		b.attrUint32(batchGeneration, generation)
	}
	b.end()
}

// batchGeneration is NFNL_BATCH_GENID of linux/netfilter/nfnetlink.h.
const batchGeneration = 1

func (b *batch) begin(typ, flags uint16) {
	b.beginRaw(unix.NFNL_SUBSYS_NFTABLES<<8|typ, flags, b.family.proto(), 0)
}

func (b *batch) beginRaw(typ, flags uint16, family byte, resource uint16) {
	b.msg = len(b.buf)
	b.buf = binary.NativeEndian.AppendUint32(b.buf, 0) // length, set by end
	b.buf = binary.NativeEndian.AppendUint16(b.buf, typ)
	b.buf = binary.NativeEndian.AppendUint16(b.buf, unix.NLM_F_REQUEST|flags)
	b.buf = binary.NativeEndian.AppendUint32(b.buf, b.seq)
	b.buf = binary.NativeEndian.AppendUint32(b.buf, 0) // from this socket
	b.buf = append(b.buf, family, unix.NFNETLINK_V0)
	b.buf = binary.BigEndian.AppendUint16(b.buf, resource)
	b.seq++
}

func (b *batch) end() {
	binary.NativeEndian.PutUint32(b.buf[b.msg:], uint32(len(b.buf)-b.msg))
	b.last = b.msg
}

func (b *batch) operation(op operation) {
	switch op.kind {
	case opAddTable:
		b.begin(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE)
		b.attrString(unix.NFTA_TABLE_NAME, TableName)
		b.attrUint32(unix.NFTA_TABLE_FLAGS, 0)
		b.end()
	case opDeleteTable:
		b.begin(unix.NFT_MSG_DELTABLE, 0)
		b.attrString(unix.NFTA_TABLE_NAME, TableName)
		b.end()
	case opAddSet:
		b.newSet(op.set)
	case opDeleteSet:
		b.begin(unix.NFT_MSG_DELSET, 0)
		b.attrString(unix.NFTA_SET_TABLE, TableName)
		b.attrString(unix.NFTA_SET_NAME, op.set.Name)
		b.end()
	case opAddChain:
		b.newChain(op.chain)
	case opFlushChain:
		b.begin(unix.NFT_MSG_DELRULE, 0)
		b.attrString(unix.NFTA_RULE_TABLE, TableName)
		b.attrString(unix.NFTA_RULE_CHAIN, op.chain.Name)
		b.end()
	case opDeleteChain:
		b.begin(unix.NFT_MSG_DELCHAIN, 0)
		b.attrString(unix.NFTA_CHAIN_TABLE, TableName)
		b.attrString(unix.NFTA_CHAIN_NAME, op.chain.Name)
		b.end()
	case opAddRules:
		b.newRules(op.chain)
	case opAddElements:
		b.elements(unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE, op.set, &op.elems)
	case opDeleteElements:
		b.elements(unix.NFT_MSG_DELSETELEM, 0, op.set, &op.elems)
	}
}

// newSet declares a set. NLM_F_EXCL: one that is there already is not what the
// table believes, and has to be read back first.
func (b *batch) newSet(s *Set) {
	b.setIDs++
	b.begin(unix.NFT_MSG_NEWSET, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b.attrString(unix.NFTA_SET_TABLE, TableName)
	b.attrString(unix.NFTA_SET_NAME, s.Name)
	b.attrUint32(unix.NFTA_SET_FLAGS, s.decl.flags())
	b.attrUint32(unix.NFTA_SET_KEY_TYPE, fieldsType(s.decl.key))
	b.attrUint32(unix.NFTA_SET_KEY_LEN, uint32(fieldsLen(s.decl.key)))
	if s.decl.isMap() {
		b.attrUint32(unix.NFTA_SET_DATA_TYPE, s.decl.dataType())
		b.attrUint32(unix.NFTA_SET_DATA_LEN, uint32(fieldsLen(s.decl.data)))
	}
	// The size of a dynamic set is not sent: the kernel would make room for that
	// many elements at once, two megabytes each. It bounds them all the same.
	b.attrUint32(unix.NFTA_SET_ID, b.setIDs)
	b.attr(unix.NFTA_SET_USERDATA, []byte(s.decl.userData))
	b.end()
}

func (d *setDecl) flags() (flags uint32) {
	if d.isMap() {
		flags |= unix.NFT_SET_MAP
	}
	if d.dynamic {
		flags |= unix.NFT_SET_EVAL | unix.NFT_SET_TIMEOUT
	}
	return flags
}

// dataType is the type of a map's data; for verdicts the kernel has a number
// of its own (NFT_DATA_VERDICT).
func (d *setDecl) dataType() uint32 {
	if d.verdicts {
		return unix.NFT_DATA_VERDICT
	}
	return fieldsType(d.data)
}

func (b *batch) newChain(c *Chain) {
	b.begin(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b.attrString(unix.NFTA_CHAIN_TABLE, TableName)
	b.attrString(unix.NFTA_CHAIN_NAME, c.Name)
	if c.Base != nil {
		hook := b.open(unix.NFTA_CHAIN_HOOK)
		b.attrUint32(unix.NFTA_HOOK_HOOKNUM, uint32(c.Base.Hook))
		b.attrUint32(unix.NFTA_HOOK_PRIORITY, uint32(c.Base.Priority))
		b.close(hook)
		b.attrUint32(unix.NFTA_CHAIN_POLICY, policyAccept)
		b.attrString(unix.NFTA_CHAIN_TYPE, chainTypeNAT)
	}
	b.end()
}

const (
	policyAccept = 1 // NF_ACCEPT
	chainTypeNAT = "nat"
)

func (b *batch) newRules(c *Chain) {
	for _, r := range c.Rules {
		b.begin(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND)
		b.attrString(unix.NFTA_RULE_TABLE, TableName)
		b.attrString(unix.NFTA_RULE_CHAIN, c.Name)
		b.attr(unix.NFTA_RULE_EXPRESSIONS|nlaNested, r.sent)
		b.end()
	}
}

// elements writes elements in as many messages as they need.
func (b *batch) elements(typ, flags uint16, s *Set, elems *records) {
	b.reserve(elems)
	withData := typ == unix.NFT_MSG_NEWSETELEM && s.decl.isMap()
	for i := 0; i < elems.count(); {
		b.begin(typ, flags)
		b.attrString(unix.NFTA_SET_ELEM_LIST_TABLE, TableName)
		b.attrString(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
		list := b.open(unix.NFTA_SET_ELEM_LIST_ELEMENTS)
		for ; i < elems.count() && len(b.buf)-list < maxElementBytes; i++ {
			b.element(elems.key(i), elems.data(i), withData, s.decl.verdicts)
		}
		b.close(list)
		b.end()
	}
}

// reserve makes room for elements at once: their encoding is at most the
// record and the headers around it.
func (b *batch) reserve(elems *records) {
	const headers = 32
	if need := len(b.buf) + elems.count()*(elems.size+headers) + 4096; need > cap(b.buf) {
		grown := make([]byte, len(b.buf), need)
		copy(grown, b.buf)
		b.buf = grown
	}
}

func (b *batch) element(key, data []byte, withData, verdict bool) {
	elem := b.open(unix.NFTA_LIST_ELEM)
	at := b.open(unix.NFTA_SET_ELEM_KEY)
	b.attr(unix.NFTA_DATA_VALUE, key)
	b.close(at)
	if withData {
		at = b.open(unix.NFTA_SET_ELEM_DATA)
		if verdict {
			b.verdict(data)
		} else {
			b.attr(unix.NFTA_DATA_VALUE, data)
		}
		b.close(at)
	}
	b.close(elem)
}

// verdict writes the verdict of a record.
func (b *batch) verdict(data []byte) {
	at := b.open(unix.NFTA_DATA_VERDICT)
	if verdictKind(data[0]) == verdictGoto {
		code := int32(unix.NFT_GOTO)
		b.attrUint32(unix.NFTA_VERDICT_CODE, uint32(code))
		b.header(unix.NFTA_VERDICT_CHAIN, int(data[1])+1)
		b.buf = append(b.buf, data[2:2+int(data[1])]...)
		b.buf = append(b.buf, 0)
		b.pad()
	} else {
		b.attrUint32(unix.NFTA_VERDICT_CODE, 0) // NF_DROP
	}
	b.close(at)
}
