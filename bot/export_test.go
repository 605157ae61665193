package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// Started returns the commands of a task that a workflow run begins with.
func Started(inputs []byte, names ...string) ([]command.Command, error) {
	body, _ := dispatchedTask(json.RawMessage(inputs))
	return specs(commands()).Parse(body, names...)
}

// Source is the place of a delivery by its words alone, whoever wrote them.
func Source(_ context.Context, event string, payload []byte) (store.Delivery, bool, error) {
	return sourceBy(event, payload, nil)
}

func sourceBy(event string, payload []byte, names []string) (d store.Delivery, ok bool, err error) {
	ev, err := ghapp.ParseEvent(event, payload)
	if err != nil {
		return d, false, fmt.Errorf("%w: %w", store.ErrUnparsable, err)
	}
	e := classify(ev)
	if e.names = names; kinds()[e.kind].calls != nil {
		d, ok = kinds()[e.kind].calls(e)
	}
	return d, ok, nil
}
