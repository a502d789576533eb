package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// What the API server gives a webhook whose registration doesn't say otherwise.
const timeout = 10 * time.Second

// A caller sends reviews and judges the answers.
type caller struct {
	url     string
	client  *http.Client
	reviews *reviews
	dialed  atomic.Int64
	tls     atomic.Pointer[tls.ConnectionState]
}

func newCaller(url, authority string, reviews *reviews) (*caller, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", authority)
	}
	c := &caller{url: url, reviews: reviews}
	c.client = &http.Client{Transport: c.transport(roots)}
	return c, nil
}

// transport returns what the API server calls webhooks with: k8s.io/apiserver v0.37 pkg/util/webhook/client.go
// (HTTP/1.1 alone), k8s.io/client-go transport/cache.go (the numbers) and transport.go (TLS 1.2 at least), and
// k8s.io/apimachinery pkg/util/net/http.go (how long idle connections stay).
func (c *caller) transport(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    roots,
			NextProtos: []string{"http/1.1"},
		},
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c.dialed.Add(1)
			return dialer.DialContext(ctx, network, address)
		},
	}
}

// call sends the review of that number, and returns an error unless the answer is the right one.
func (c *caller) call(number int64) error {
	review := c.reviews.numbered(number)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"?timeout="+timeout.String(), bytes.NewReader(review.body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if c.tls.Load() == nil {
		c.tls.Store(response.TLS)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	return review.judge(answer)
}

// negotiated says what client and server agreed on: "TLS 1.3, TLS_AES_128_GCM_SHA256".
func (c *caller) negotiated() string {
	state := c.tls.Load()
	if state == nil {
		return "no answer"
	}
	return fmt.Sprintf("%s, %s", tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite))
}
