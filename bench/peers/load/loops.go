package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A measurement is how long each request took, over so much time; the fault is the first wrong answer, if there was
// one. An answer that was given up on is late, and no fault: a server may be asked for more than it can do.
type measurement struct {
	latencies []time.Duration
	elapsed   time.Duration
	late      int
	fault     error
}

// Never the same twice in a process, so that no two requests share a uid.
var lastNumber atomic.Int64

// closedLoop has each of several clients send its next request once it has the answer to the one before.
func closedLoop(call func(int64) error, clients int, length time.Duration) *measurement {
	found := make([][]time.Duration, clients)
	errs := make([][]error, clients)
	began := time.Now()
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for time.Since(began) < length {
				sent := time.Now()
				err := call(lastNumber.Add(1))
				found[client] = append(found[client], time.Since(sent))
				errs[client] = append(errs[client], err)
				if isFault(err) {
					return
				}
			}
		})
	}
	running.Wait()
	return newMeasurement(slices.Concat(found...), time.Since(began), slices.Concat(errs...))
}

// openLoop sends requests at a fixed rate, whether or not those before are answered.
//
// A latency counts from when the request was due, so that one that had to wait for others is not taken for fast.
func openLoop(call func(int64) error, rate float64, length time.Duration) *measurement {
	count := int(rate * length.Seconds())
	found := make([]time.Duration, count)
	errs := make([]error, count)
	began := time.Now()
	var running sync.WaitGroup
	for request := range count {
		due := began.Add(time.Duration(float64(request) / rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		running.Go(func() {
			errs[request] = call(lastNumber.Add(1))
			found[request] = time.Since(due)
		})
	}
	running.Wait()
	return newMeasurement(found, time.Since(began), errs)
}

func newMeasurement(latencies []time.Duration, elapsed time.Duration, errs []error) *measurement {
	m := &measurement{latencies: latencies, elapsed: elapsed}
	for _, err := range errs {
		if isFault(err) {
			m.fault = err
			break
		}
		if err != nil {
			m.late++
		}
	}
	return m
}

func isFault(err error) bool {
	return err != nil && !errors.Is(err, context.DeadlineExceeded)
}

// A report is what the program prints. Sent counts the requests of the warm-up too.
type report struct {
	Requests    int     `json:"requests"`
	Sent        int     `json:"sent"`
	Late        int     `json:"late"`
	Seconds     float64 `json:"seconds"`
	P50Ms       float64 `json:"p50_ms"`
	P99Ms       float64 `json:"p99_ms"`
	Connections int     `json:"connections"`
	TLS         string  `json:"tls"`
}

func (m *measurement) report() report {
	slices.Sort(m.latencies)
	return report{
		Requests: len(m.latencies),
		Late:     m.late,
		Seconds:  m.elapsed.Seconds(),
		P50Ms:    m.percentile(50),
		P99Ms:    m.percentile(99),
	}
}

// percentile returns milliseconds, by the nearest rank; the latencies are sorted.
func (m *measurement) percentile(percent int) float64 {
	rank := (len(m.latencies)*percent + 99) / 100
	return m.latencies[max(rank, 1)-1].Seconds() * 1000
}
