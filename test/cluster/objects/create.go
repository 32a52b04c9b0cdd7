package objects

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"
)

// Workers is how many requests are sent at a time; more do not make a local API
// server faster.
const Workers = 16

// Create creates a bundle: the Service first, as a user does.
func (b Bundle) Create(ctx context.Context, client kubernetes.Interface) error {
	service, err := client.CoreV1().Services(b.Service.Namespace).Create(ctx, b.Service, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create service %s/%s: %w", b.Service.Namespace, b.Service.Name, err)
	}
	for _, slice := range b.Slices {
		// As the controller does, so that the slice goes with its service.
		slice.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))}
		if _, err := client.DiscoveryV1().EndpointSlices(slice.Namespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create endpoint slice %s/%s: %w", slice.Namespace, slice.Name, err)
		}
	}
	return nil
}

// Delete deletes a bundle. The slices are deleted here because the garbage
// collector that follows owner references may not be running.
func (b Bundle) Delete(ctx context.Context, client kubernetes.Interface) error {
	err := client.CoreV1().Services(b.Service.Namespace).Delete(ctx, b.Service.Name, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("delete service %s/%s: %w", b.Service.Namespace, b.Service.Name, err)
	}
	for _, slice := range b.Slices {
		if err := client.DiscoveryV1().EndpointSlices(slice.Namespace).Delete(ctx, slice.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete endpoint slice %s/%s: %w", slice.Namespace, slice.Name, err)
		}
	}
	return nil
}

// Each calls f for the numbers 0 to count-1, Workers at a time, and returns the
// first error.
func Each(ctx context.Context, count int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Workers)
	for i := range count {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return group.Wait()
}
