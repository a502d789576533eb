// Calls a webhook as an API server does, for some seconds, checks every answer, and prints what it measured as JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var (
		url         = flag.String("url", "", "of the webhook")
		authority   = flag.String("ca", "", "PEM file of the CA to trust")
		allowed     = flag.String("allowed", "", "file with the AdmissionReview of a pod to allow")
		denied      = flag.String("denied", "", "file with the AdmissionReview of a pod to deny")
		uid         = flag.String("uid", "", "of both, to be replaced")
		message     = flag.String("message", "", "what a denial's message has to begin with")
		deniedOf    = flag.Int("denied-of", 10, "one request of so many is the one to deny")
		concurrency = flag.Int("concurrency", 8, "requests under way at once, in a closed loop")
		rate        = flag.Float64("rate", 0, "requests a second, whether or not those before are answered; 0: closed loop")
		warmUp      = flag.Duration("warm-up", 300*time.Millisecond, "before the measurement begins")
		length      = flag.Duration("length", 2*time.Second, "of the measurement")
	)
	flag.Parse()

	reviews, err := readReviews(*allowed, *denied, *uid, *deniedOf, *message)
	if err != nil {
		fail(err)
	}
	caller, err := newCaller(*url, *authority, reviews)
	if err != nil {
		fail(err)
	}
	var loop func(time.Duration) *measurement
	if *rate > 0 {
		loop = func(length time.Duration) *measurement { return openLoop(caller.call, *rate, length) }
	} else {
		loop = func(length time.Duration) *measurement { return closedLoop(caller.call, *concurrency, length) }
	}
	warm := loop(*warmUp)
	if warm.fault != nil {
		fail(warm.fault)
	}
	measured := loop(*length)
	if measured.fault != nil {
		fail(measured.fault)
	}
	report := measured.report()
	report.Sent = len(warm.latencies) + len(measured.latencies)
	report.Connections = int(caller.dialed.Load())
	report.TLS = caller.negotiated()
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
