package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func written(t *testing.T, name, body string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readTwo(t *testing.T) *reviews {
	found, err := readReviews(written(t, "a", `allowed u-i-d`), written(t, "d", `denied u-i-d`), "u-i-d", 10, "Sorry")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOneReviewOfTenIsTheOneToDeny(t *testing.T) {
	found, denied := readTwo(t), 0
	for number := int64(1); number <= 100; number++ {
		review := found.numbered(number)
		if bytes.HasPrefix(review.body, []byte("denied")) {
			denied++
		}
		if review.allow == bytes.HasPrefix(review.body, []byte("denied")) {
			t.Errorf("review %d: %s", number, review.body)
		}
		if !bytes.Contains(review.body, []byte(review.uid)) {
			t.Errorf("review %d lacks its uid %s", number, review.uid)
		}
	}
	if denied != 10 {
		t.Errorf("%d of 100", denied)
	}
}

func TestABodyWithoutTheUidIsRefused(t *testing.T) {
	if _, err := readReviews(written(t, "a", "x"), written(t, "d", "x"), "u-i-d", 10, ""); err == nil {
		t.Error("taken")
	}
}

func TestOnlyTheRightAnswerIsTaken(t *testing.T) {
	found := readTwo(t)
	allow, deny := found.numbered(1), found.numbered(10)
	answer := func(uid string, allowed bool, message string) []byte {
		return fmt.Appendf(nil, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": {"uid": %q, "allowed": %t, "status": {"message": %q}}}`, uid, allowed, message)
	}
	for name, one := range map[string]struct {
		review review
		answer []byte
		right  bool
	}{
		"an allowed pod":           {allow, answer(allow.uid, true, ""), true},
		"a denied pod":             {deny, answer(deny.uid, false, "Sorry, no"), true},
		"the answer to another":    {allow, answer(deny.uid, true, ""), false},
		"a pod allowed by mistake": {deny, answer(deny.uid, true, ""), false},
		"a pod denied by mistake":  {allow, answer(allow.uid, false, "Sorry"), false},
		"another message":          {deny, answer(deny.uid, false, "No"), false},
		"no JSON":                  {allow, []byte("<html>"), false},
		"no AdmissionReview":       {allow, []byte("{}"), false},
	} {
		if err := one.review.judge(one.answer); (err == nil) != one.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}
