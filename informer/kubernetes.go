package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Kubernetes is the Source that watches an API server. It needs leave to list
// and watch services, endpointslices of discovery.k8s.io and nodes. It should
// have leave to list and watch servicecidrs of networking.k8s.io, which API
// servers before Kubernetes 1.33 do not have; without them Store.ServiceCIDRs
// stays empty.
//
// While the API server is away the last known state stays in force; Run tries
// again with growing pauses of up to 5 seconds, says so in the log once a
// minute, and says when it is back.
type Kubernetes struct {
	// Client reads the API. NewKubernetes makes a suitable one; what a Store
	// holds does not depend on its settings.
	Client kubernetes.Interface
	// Metadata counts nodes when Store.WantNodes asks for it, without reading
	// more of them than their names. Nil means their number stays unknown.
	Metadata metadata.Interface
	// Log gets what an operator should know; nil means the Store's. client-go's
	// own messages arrive at debug level.
	Log *slog.Logger
}

var _ Source = (*Kubernetes)(nil)

const protobuf = "application/vnd.kubernetes.protobuf"

// NewKubernetes returns a source with clients for config, which is not modified.
// They speak protobuf: decoding a list of all endpoints from JSON takes several
// times the CPU time and memory.
func NewKubernetes(config *rest.Config) (*Kubernetes, error) {
	typed := rest.CopyConfig(config)
	typed.ContentType = protobuf
	typed.AcceptContentTypes = protobuf + ",application/json"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, fmt.Errorf("make client for the API server %q: %w", config.Host, err)
	}
	meta, err := metadata.NewForConfig(metadata.ConfigFor(typed))
	if err != nil {
		return nil, fmt.Errorf("make metadata client for the API server %q: %w", config.Host, err)
	}
	return &Kubernetes{Client: client, Metadata: meta}, nil
}

// Run feeds s until ctx ends. It fails only when k or the node name of s is
// incomplete.
func (k *Kubernetes) Run(ctx context.Context, s *Store) error {
	if k.Client == nil {
		return errors.New("watch the API server: no client given")
	}
	if s.opts.NodeName == "" {
		return errors.New("watch the API server: the name of this node is empty; it must be that of its Node object")
	}
	log := k.Log
	if log == nil {
		log = s.opts.Log
	}
	// client-go reports each failed attempt as an error. Each outage would fill
	// the log on each node, so its messages are lowered to debug level, and the
	// outage logger of every watch says what happened instead.
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(debugOnly{log.Handler()}))

	var running sync.WaitGroup
	defer running.Wait()
	for _, w := range []*watched{k.services(), k.endpointSlices(), k.node(s.opts.NodeName)} {
		running.Go(func() { w.run(ctx, s, log) })
	}
	running.Go(func() {
		newOptional(k.serviceCIDRs(), "addresses that no Service has are not dropped", log).run(ctx, s)
	})
	select {
	case <-ctx.Done():
		return nil
	case <-s.wantNodes:
	}
	if k.Metadata == nil {
		log.Warn("the number of nodes stays unknown: no metadata client given")
	} else {
		running.Go(func() { k.allNodes().run(ctx, s, log) })
	}
	<-ctx.Done()
	return nil
}

// services watches what A1 and A2 leave.
func (k *Kubernetes) services() *watched {
	api := k.Client.CoreV1().Services(metav1.NamespaceAll)
	return &watched{
		kind: kindService, resource: "services", example: &corev1.Service{}, client: k.Client,
		list:    listing(api.List),
		watch:   api.Watch,
		labels:  "!" + labelProxyName,
		fields:  fields.OneTermNotEqualSelector("spec.clusterIP", corev1.ClusterIPNone).String(),
		convert: typed(func(o *corev1.Service, _ string) change { return convertService(o) }),
	}
}

// endpointSlices watches what B3 leaves.
func (k *Kubernetes) endpointSlices() *watched {
	api := k.Client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll)
	return &watched{
		kind: kindSlice, resource: "endpointslices", example: &discoveryv1.EndpointSlice{}, client: k.Client,
		list:    listing(api.List),
		watch:   api.Watch,
		labels:  "!" + corev1.IsHeadlessService,
		convert: typed(convertSlice),
	}
}

// node watches this proxy's own Node only.
func (k *Kubernetes) node(name string) *watched {
	api := k.Client.CoreV1().Nodes()
	return &watched{
		kind: kindNode, resource: "node", example: &corev1.Node{}, client: k.Client,
		list:    listing(api.List),
		watch:   api.Watch,
		fields:  fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
		convert: typed(func(o *corev1.Node, _ string) change { return convertNode(o) }),
	}
}

// serviceCIDRs watches the prefixes that ClusterIPs are taken from (D4).
func (k *Kubernetes) serviceCIDRs() *watched {
	api := k.Client.NetworkingV1().ServiceCIDRs()
	return &watched{
		kind: kindServiceCIDR, resource: "servicecidrs", example: &networkingv1.ServiceCIDR{}, client: k.Client,
		list:    listing(api.List),
		watch:   api.Watch,
		convert: typed(func(o *networkingv1.ServiceCIDR, _ string) change { return convertServiceCIDR(o) }),
	}
}

// allNodes watches the names of all nodes.
func (k *Kubernetes) allNodes() *watched {
	api := k.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
	return &watched{
		kind: kindNodeName, resource: "nodes", example: &metav1.PartialObjectMetadata{}, client: k.Metadata,
		list:    listing(api.List),
		watch:   api.Watch,
		convert: typed(func(o *metav1.PartialObjectMetadata, _ string) change { return countNode(o.Name) }),
	}
}

// listing gives the typed List of a client the type a reflector wants.
func listing[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) cache.ListWithContextFunc {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, opts)
	}
}

// typed gives a conversion the type a reflector store has.
func typed[O runtime.Object](convert func(object O, node string) change) func(any, string) (change, bool) {
	return func(object any, node string) (change, bool) {
		o, ok := object.(O)
		if !ok {
			return change{}, false
		}
		return convert(o, node), true
	}
}

// watchBackoff is the pause between attempts while the API server is away:
// client-go's, but with at most 2.5 to 5 instead of 30 to 60 seconds. All watches
// have to be back before a node follows the cluster again, and each waits out a
// pause of its own, so a node is late by up to 5 seconds. In return an API server
// that is overloaded gets one or two requests per second from each node.
func watchBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 100, Cap: 2500 * time.Millisecond}
}
