package agent

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nearside/nearside/informer"
	"github.com/nearside/nearside/nft"
)

// serviceObject makes a Service "shop/NAME" with one TCP port 80 named http and
// the given ClusterIPs.
func serviceObject(name string, clusterIPs ...string) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIPs[0], ClusterIPs: clusterIPs,
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		},
	}
	for _, ip := range clusterIPs {
		family := corev1.IPv4Protocol
		if strings.Contains(ip, ":") {
			family = corev1.IPv6Protocol
		}
		s.Spec.IPFamilies = append(s.Spec.IPFamilies, family)
	}
	return s
}

func withPolicy(s *corev1.Service, policy string) *corev1.Service {
	s.Annotations[policyAnnotation] = policy
	return s
}

// sliceObject makes an EndpointSlice of a service with ready endpoints, each
// written "ADDRESS@NODE".
func sliceObject(service string, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: service + "-4",
			Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{
			Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080)),
		}},
	}
	for _, e := range endpoints {
		address, node, _ := strings.Cut(e, "@")
		if strings.Contains(address, ":") {
			s.AddressType, s.Name = discoveryv1.AddressTypeIPv6, service+"-6"
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, NodeName: &node})
	}
	return s
}

func nodeObject(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone},
	}}
}

// threeNodes are nodes a and b in zone 1 and node c in zone 2.
func threeNodes() []runtime.Object {
	return []runtime.Object{nodeObject("node-a", "zone-1"), nodeObject("node-b", "zone-1"), nodeObject("node-c", "zone-2")}
}

// fill is a source that puts objects into the store at once and then waits.
type fill []runtime.Object

func (f fill) Run(ctx context.Context, s *informer.Store) error {
	if err := s.Replace(f...); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// newTestAgent makes an agent on node-a whose store holds the given objects and
// whose families are set up, ready for rounds.
func newTestAgent(t *testing.T, opts Options, objects ...runtime.Object) *Agent {
	t.Helper()
	if opts.NodeName == "" {
		opts.NodeName = "node-a"
	}
	if opts.Families == nil {
		opts.Families = nft.Families
	}
	a, err := New(opts)
	require.NoError(t, err)
	require.NoError(t, a.store.Replace(objects...))
	a.setFamilies(opts.Families)
	return a
}

func shop(name string) informer.Name { return informer.Name{Namespace: "shop", Name: name} }

func take(t *testing.T, a *Agent) informer.Changes {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, a.store.Wait(ctx), "the store has no changes")
	return a.store.Take()
}

// scriptedKernel is a kernel that takes or refuses transactions as a test wants
// and remembers them as text. It holds no rules: a table it has taken is the one
// the agent wanted. What the real kernel does is for the kernel tests.
type scriptedKernel struct {
	agent *Agent

	mu sync.Mutex
	// refuse is asked about each transaction; nil takes all.
	refuse func(tx *nft.Transaction) error
	// unreadable is asked about each table to read; nil reads all.
	unreadable func(f nft.Family) error
	tables     map[nft.Family]*nft.Ruleset
	log        []appliedTransaction
	reads      int
}

type appliedTransaction struct {
	at     time.Time
	family nft.Family
	text   string
	err    error
}

func newScriptedKernel() *scriptedKernel {
	return &scriptedKernel{tables: make(map[nft.Family]*nft.Ruleset)}
}

func (k *scriptedKernel) ReadBack(_ context.Context, f nft.Family) (*nft.Ruleset, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads++
	if k.unreadable != nil {
		if err := k.unreadable(f); err != nil {
			return nil, err
		}
	}
	return k.tables[f], nil
}

func (k *scriptedKernel) Apply(_ context.Context, tx *nft.Transaction) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if k.refuse != nil {
		err = k.refuse(tx)
	}
	k.log = append(k.log, appliedTransaction{at: time.Now(), family: tx.Family, text: tx.Text(), err: err})
	if err == nil {
		for _, f := range k.agent.families {
			if f.id == tx.Family {
				k.tables[f.id] = f.table.Ruleset()
			}
		}
	}
	return err
}

// applied returns the transactions so far.
func (k *scriptedKernel) applied() []appliedTransaction {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]appliedTransaction(nil), k.log...)
}

// refusal is the kernel's refusal of an element of a frontend.
func refusal(frontend string, errno syscall.Errno) *nft.Error {
	return &nft.Error{
		Op: "add element", Object: fmt.Sprintf("map backends { %s }", frontend),
		Frontend: netip.MustParseAddrPort(frontend), Protocol: nft.TCP, Errno: errno,
	}
}
