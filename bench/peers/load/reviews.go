package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// reviews are the bodies to send: mostly of a pod to allow, every so often of one to deny.
type reviews struct {
	allowed, denied template
	deniedOf        int64
	message         string
}

// A template is a review around its uid.
type template struct{ before, after []byte }

// A review is a request's body and the right answer to it.
type review struct {
	uid     string
	body    []byte
	allow   bool
	message string
}

// readReviews reads both bodies. They carry `uid`; each request gets one of its own in its place, as long.
func readReviews(allowed, denied, uid string, deniedOf int, message string) (*reviews, error) {
	found := &reviews{deniedOf: int64(deniedOf), message: message}
	for file, into := range map[string]*template{allowed: &found.allowed, denied: &found.denied} {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var ok bool
		if into.before, into.after, ok = bytes.Cut(body, []byte(uid)); !ok {
			return nil, fmt.Errorf("%s lacks the uid %q", file, uid)
		}
	}
	return found, nil
}

// numbered returns the review of that number, with a uid that no other has.
func (r *reviews) numbered(number int64) review {
	uid := fmt.Sprintf("%08x-0000-4000-8000-%012x", number>>48, number&(1<<48-1))
	if number%r.deniedOf == 0 {
		return review{uid: uid, body: r.denied.with(uid), message: r.message}
	}
	return review{uid: uid, body: r.allowed.with(uid), allow: true}
}

func (t template) with(uid string) []byte {
	return slices.Concat(t.before, []byte(uid), t.after)
}

// judge returns an error unless the answer is the right one to this review.
func (r review) judge(answer []byte) error {
	var found struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Response   struct {
			UID     string `json:"uid"`
			Allowed bool   `json:"allowed"`
			Status  struct {
				Message string `json:"message"`
			} `json:"status"`
		} `json:"response"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("not an AdmissionReview: %w: %s", err, answer)
	}
	response := found.Response
	if found.APIVersion != "admission.k8s.io/v1" || found.Kind != "AdmissionReview" || response.UID != r.uid {
		return fmt.Errorf("not the answer to %s: %s", r.uid, answer)
	}
	if response.Allowed != r.allow || !strings.HasPrefix(response.Status.Message, r.message) {
		return fmt.Errorf("the wrong verdict on %s: %s", r.uid, answer)
	}
	return nil
}
