package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A measurement is how long each request took, over so much time; the fault is the first error, if there was one.
type measurement struct {
	latencies []time.Duration
	elapsed   time.Duration
	fault     error
}

// Never the same twice in a process, so that no two requests share a uid.
var lastNumber atomic.Int64

// closedLoop has each of several clients send its next request once it has the answer to the one before.
func closedLoop(call func(int64) error, clients int, length time.Duration) *measurement {
	found := make([][]time.Duration, clients)
	faults := make([]error, clients)
	began := time.Now()
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for time.Since(began) < length {
				sent := time.Now()
				if faults[client] = call(lastNumber.Add(1)); faults[client] != nil {
					return
				}
				found[client] = append(found[client], time.Since(sent))
			}
		})
	}
	running.Wait()
	return newMeasurement(slices.Concat(found...), time.Since(began), faults)
}

// openLoop sends requests at a fixed rate, whether or not those before are answered.
//
// A latency counts from when the request was due, so that one that had to wait for others is not taken for fast.
func openLoop(call func(int64) error, rate float64, length time.Duration) *measurement {
	count := int(rate * length.Seconds())
	found := make([]time.Duration, count)
	faults := make([]error, count)
	began := time.Now()
	var running sync.WaitGroup
	for request := range count {
		due := began.Add(time.Duration(float64(request) / rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		running.Go(func() {
			faults[request] = call(lastNumber.Add(1))
			found[request] = time.Since(due)
		})
	}
	running.Wait()
	return newMeasurement(found, time.Since(began), faults)
}

func newMeasurement(latencies []time.Duration, elapsed time.Duration, faults []error) *measurement {
	m := &measurement{latencies: latencies, elapsed: elapsed}
	if at := slices.IndexFunc(faults, func(fault error) bool { return fault != nil }); at >= 0 {
		m.fault = faults[at]
	}
	return m
}

// A report is what the program prints. Sent counts the requests of the warm-up too.
type report struct {
	Requests    int     `json:"requests"`
	Sent        int     `json:"sent"`
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
