// Command board checks a Grafana board with Grafana's own description of its format: it holds
// nothing unknown, and each part is valid.
//
//	go run ./board BOARD.json
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

func main() {
	log.SetFlags(0)
	plugins.RegisterDefaultPlugins()
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	// The strict reading tells each fault, and leaves panels out: a list of no faults is an
	// error to it. So the board is read twice.
	var strict, b dashboard.Dashboard
	if err := strict.UnmarshalJSONStrict(data); err != nil && err.Error() != "" {
		log.Fatalf("read board: %v", err)
	}
	if err := json.Unmarshal(data, &b); err != nil {
		log.Fatalf("read board: %v", err)
	}
	if err := b.Validate(); err != nil {
		log.Fatalf("validate board: %v", err)
	}
	queries := 0
	for _, p := range b.Panels {
		if p.Panel == nil {
			continue
		}
		for _, target := range p.Panel.Targets {
			q, ok := target.(*prometheus.Dataquery)
			if !ok {
				log.Fatalf("%s: a %T is no query of Prometheus", *p.Panel.Title, target)
			}
			if q.Expr == "" {
				log.Fatalf("%s: an empty query", *p.Panel.Title)
			}
			queries++
		}
	}
	if queries == 0 {
		log.Fatal("no query")
	}
	fmt.Printf("board: %d panels, %d queries\n", len(b.Panels), queries)
}
