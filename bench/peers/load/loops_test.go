package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// A server that answers one request at a time, each at once but the first.
func stalling(stall time.Duration) func(int64) error {
	var busy sync.Mutex
	var once sync.Once
	return func(int64) error {
		busy.Lock()
		defer busy.Unlock()
		once.Do(func() { time.Sleep(stall) })
		return nil
	}
}

func TestAnOpenLoopCountsWhatWaitedBehindAStall(t *testing.T) {
	m := openLoop(stalling(200*time.Millisecond), 100, 200*time.Millisecond)
	report := m.report()

	if report.Requests != 20 {
		t.Errorf("%d requests, not as many as were due", report.Requests)
	}
	// Those that were due during the stall waited for what was left of it, half of it on average.
	if report.P50Ms < 50 {
		t.Errorf("half of the requests took %g ms, as if they had not waited", report.P50Ms)
	}
}

func TestAClosedLoopSendsTheNextRequestAfterTheAnswer(t *testing.T) {
	m := closedLoop(func(int64) error { time.Sleep(20 * time.Millisecond); return nil }, 2, 100*time.Millisecond)

	if count := m.report().Requests; count < 2 || count > 10 {
		t.Errorf("%d requests by two clients in 100 ms, though each takes 20", count)
	}
}

func TestAWrongAnswerIsAFaultOfTheMeasurement(t *testing.T) {
	wrong := errors.New("the wrong verdict")
	call := func(number int64) error { return wrong }

	if m := openLoop(call, 1000, 10*time.Millisecond); !errors.Is(m.fault, wrong) {
		t.Errorf("open loop: %v", m.fault)
	}
	if m := closedLoop(call, 2, 10*time.Millisecond); !errors.Is(m.fault, wrong) {
		t.Errorf("closed loop: %v", m.fault)
	}
}

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	m := &measurement{elapsed: time.Second}
	for millisecond := 200; millisecond >= 1; millisecond-- {
		m.latencies = append(m.latencies, time.Duration(millisecond)*time.Millisecond)
	}
	report := m.report()

	if report.P50Ms != 100 || report.P99Ms != 198 {
		t.Errorf("p50 %g, p99 %g", report.P50Ms, report.P99Ms)
	}
}

func TestAnAnswerThatWasGivenUpOnIsLateAndCountsWithTheTimeItWasWaitedFor(t *testing.T) {
	call := func(int64) error {
		time.Sleep(20 * time.Millisecond)
		return fmt.Errorf("Post: %w", context.DeadlineExceeded)
	}

	for name, m := range map[string]*measurement{
		"open loop":   openLoop(call, 100, 50*time.Millisecond),
		"closed loop": closedLoop(call, 1, 50*time.Millisecond),
	} {
		report := m.report()
		if m.fault != nil || report.Late == 0 || report.Late != report.Requests || report.P50Ms < 20 {
			t.Errorf("%s: fault %v, %+v", name, m.fault, report)
		}
	}
}
