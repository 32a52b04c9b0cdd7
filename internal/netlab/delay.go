package netlab

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// delayedLink carries packets between two TUN devices and keeps each for a
// while on the way.
//
// The usual means would be tc's netem, but many kernels, above all those of
// small virtual machines, are built without it. TUN is nearly everywhere, and
// the traffic of a demo is far below what it can carry.
type delayedLink struct {
	ends [2]*os.File
	wg   sync.WaitGroup
}

// packetSize is more than any packet has: both devices keep the usual MTU.
const packetSize = 2048

// queueLength bounds the packets on the way. A full queue drops, as a real one
// does.
const queueLength = 4096

// newDelayedLink makes the devices and starts to carry packets, until close.
func newDelayedLink(a *Host, nameA string, b *Host, nameB string, delay time.Duration) (*delayedLink, error) {
	l := new(delayedLink)
	for i, end := range []struct {
		host *Host
		name string
	}{{a, nameA}, {b, nameB}} {
		err := end.host.Do(func() (err error) {
			l.ends[i], err = openTUN(end.name)
			return err
		})
		if err != nil {
			l.close()
			return nil, err
		}
	}
	var timers [2]*timer
	for i := range timers {
		var err error
		if timers[i], err = newTimer(); err != nil {
			timers[0].close()
			l.close()
			return nil, err
		}
	}
	l.carry(l.ends[0], l.ends[1], timers[0], delay)
	l.carry(l.ends[1], l.ends[0], timers[1], delay)
	return l, nil
}

// openTUN makes a TUN device in the calling thread's namespace. It exists as
// long as the file is open.
func openTUN(name string) (*os.File, error) {
	const device = "/dev/net/tun"
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", device, err)
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make TUN device %q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), device), nil
}

// packet is a packet on its way.
type packet struct {
	due  time.Time
	data []byte
}

// carry starts the two goroutines of one direction; both end when the source is
// closed.
func (l *delayedLink) carry(from, to *os.File, timer *timer, delay time.Duration) {
	queue := make(chan packet, queueLength)
	l.wg.Add(2)
	go func() {
		defer l.wg.Done()
		defer close(queue)
		receive(from, queue, delay)
	}()
	go func() {
		defer l.wg.Done()
		for p := range queue {
			timer.wait(p.due)
			// A device that is down refuses the packet: it is lost, as on a cable.
			_, _ = to.Write(p.data)
		}
		timer.close()
	}()
}

func receive(from *os.File, queue chan<- packet, delay time.Duration) {
	buf := make([]byte, packetSize)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return // closed, or gone together with its namespace
		}
		select {
		case queue <- packet{due: time.Now().Add(delay), data: append([]byte(nil), buf[:n]...)}:
		default:
		}
	}
}

func (l *delayedLink) close() {
	for _, end := range l.ends {
		if end != nil {
			_ = end.Close()
		}
	}
	l.wg.Wait()
}
