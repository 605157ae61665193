package bot

import (
	"context"
	"encoding/json"

	"github.com/handrail-bot/handrail/bot/command"
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
