// Prometheus' own parser and engine, over series that a test makes up.
//
// Reads one request as JSON on standard input, and writes the answer as JSON on standard output.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// A request asks for the names in each expression, or for its values: one per step from the first to the last of the series.
type request struct {
	Expressions []string `json:"expressions"`
	Step        float64  `json:"step"` // seconds
	Series      []series `json:"series"`
	Epoch       float64  `json:"epoch"` // when the first value was, in seconds since 1970
}

type series struct {
	Labels map[string]string `json:"labels"`
	Values []*float64        `json:"values"` // one per step; null where there is none, or no number
}

type answer struct {
	Error     string     `json:"error,omitempty"`
	Selectors []selector `json:"selectors,omitempty"`
	Groupings []grouping `json:"groupings,omitempty"`
	Series    []series   `json:"series,omitempty"`
}

type selector struct {
	Metric   string      `json:"metric"`
	Matchers [][3]string `json:"matchers"` // name, operator, value
}

// Labels by which the series of these metrics are grouped or matched.
type grouping struct {
	Labels  []string `json:"labels"`
	Metrics []string `json:"metrics"`
}

var promParser = parser.NewParser(parser.Options{})

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	answers := []answer{}
	for _, expression := range asked.Expressions {
		answers = append(answers, respond(expression, asked))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func respond(expression string, asked request) answer {
	parsed, err := promParser.ParseExpr(expression)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found := names(parsed)
	if asked.Step == 0 {
		return found
	}
	values, err := evaluate(expression, asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found.Series = values
	return found
}

func names(parsed parser.Expr) answer {
	var found answer
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch each := node.(type) {
		case *parser.VectorSelector:
			found.Selectors = append(found.Selectors, selectorOf(each))
		case *parser.AggregateExpr:
			if !each.Without && len(each.Grouping) > 0 {
				found.Groupings = append(found.Groupings, grouping{each.Grouping, metricsIn(each.Expr)})
			}
		case *parser.BinaryExpr:
			if matching := each.VectorMatching; matching != nil && matching.On {
				found.Groupings = append(found.Groupings, grouping{matching.MatchingLabels, metricsIn(each)})
			}
		}
		return nil
	})
	return found
}

func selectorOf(node *parser.VectorSelector) selector {
	found := selector{Metric: node.Name, Matchers: [][3]string{}}
	for _, each := range node.LabelMatchers {
		if each.Name == labels.MetricName {
			found.Metric = each.Value
			continue
		}
		found.Matchers = append(found.Matchers, [3]string{each.Name, each.Type.String(), each.Value})
	}
	return found
}

func metricsIn(node parser.Node) []string {
	found := []string{}
	parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
		if each, ok := node.(*parser.VectorSelector); ok {
			found = append(found, selectorOf(each).Metric)
		}
		return nil
	})
	return found
}

func evaluate(expression string, asked request) ([]series, error) {
	steps := 0
	for _, each := range asked.Series {
		steps = max(steps, len(each.Values))
	}
	step := time.Duration(asked.Step * float64(time.Second))
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, Parser: promParser})
	epoch := time.UnixMilli(int64(asked.Epoch * 1000))
	query, err := engine.NewRangeQuery(
		context.Background(), kept{asked.Series, epoch, step}, nil, expression,
		epoch, epoch.Add(step*time.Duration(steps-1)), step,
	)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	matrix, err := result.Matrix()
	if err != nil {
		return nil, err
	}
	found := []series{}
	for _, each := range matrix {
		values := make([]*float64, steps)
		for _, point := range each.Floats {
			if !math.IsNaN(point.F) && !math.IsInf(point.F, 0) {
				values[(point.T-epoch.UnixMilli())/step.Milliseconds()] = &point.F
			}
		}
		found = append(found, series{Labels: each.Metric.Map(), Values: values})
	}
	return found, nil
}

// The series of a request, as the engine reads them.
type kept struct {
	series []series
	epoch  time.Time
	step   time.Duration
}

func (k kept) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: k.find}, nil
}

func (k kept) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{}
	for _, each := range k.series {
		if matches(each.Labels, matchers) {
			found.all = append(found.all, k.stored(each))
		}
	}
	return found
}

func matches(all map[string]string, matchers []*labels.Matcher) bool {
	for _, each := range matchers {
		if !each.Matches(all[each.Name]) {
			return false
		}
	}
	return true
}

func (k kept) stored(of series) storage.Series {
	points := []promql.FPoint{}
	for number, value := range of.Values {
		if value != nil {
			points = append(points, promql.FPoint{T: k.epoch.Add(k.step * time.Duration(number)).UnixMilli(), F: *value})
		}
	}
	return promql.NewStorageSeries(promql.Series{Metric: labels.FromMap(of.Labels), Floats: points})
}

type set struct {
	all  []storage.Series
	next int
}

func (s *set) Next() bool {
	s.next++
	return s.next <= len(s.all)
}

func (s *set) At() storage.Series { return s.all[s.next-1] }
func (s *set) Err() error         { return nil }

func (s *set) Warnings() annotations.Annotations { return nil }
