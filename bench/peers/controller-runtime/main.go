// The webhook that bench-serving compares ours with: the same decision on controller-runtime, written as its users
// write one (kubebuilder's scaffold: decoder, handler, zap, certificates from a folder, no HTTP/2).
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type labelRequirer struct {
	decoder admission.Decoder
}

func (r *labelRequirer) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := r.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if _, found := pod.Labels["custom"]; !found {
		return admission.Denied("Pod must have custom label")
	}
	return admission.Allowed("")
}

func main() {
	port := flag.Int("port", 9443, "port on 127.0.0.1")
	certificates := flag.String("cert-dir", "", "folder with tls.crt and tls.key")
	flag.Parse()
	log.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))

	server := webhook.NewServer(webhook.Options{
		Host:    "127.0.0.1",
		Port:    *port,
		CertDir: *certificates,
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	})
	server.Register("/validate", &webhook.Admission{
		Handler: &labelRequirer{decoder: admission.NewDecoder(scheme)},
	})
	if err := server.Start(signals.SetupSignalHandler()); err != nil {
		log.Log.Error(err, "the webhook ended")
		os.Exit(1)
	}
}
