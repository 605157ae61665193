package telemetry

import "go.opentelemetry.io/otel/attribute"

// Names of OpenTelemetry's conventions for generative AI, version 1.41. None of them is
// stable; those of newer versions are used if OTEL_SEMCONV_STABILITY_OPT_IN asks for
// gen_ai_latest_experimental.
const (
	operationKey    = attribute.Key("gen_ai.operation.name")
	providerKey     = attribute.Key("gen_ai.provider.name")
	agentKey        = attribute.Key("gen_ai.agent.name")
	agentVersionKey = attribute.Key("gen_ai.agent.version") // until 1.41
	conversationKey = attribute.Key("gen_ai.conversation.id")

	requestModelKey  = attribute.Key("gen_ai.request.model")
	maxTokensKey     = attribute.Key("gen_ai.request.max_tokens")
	temperatureKey   = attribute.Key("gen_ai.request.temperature")
	streamKey        = attribute.Key("gen_ai.request.stream") // newer
	finishReasonsKey = attribute.Key("gen_ai.response.finish_reasons")
	firstChunkKey    = attribute.Key("gen_ai.response.time_to_first_chunk") // newer
	inputTokensKey   = attribute.Key("gen_ai.usage.input_tokens")
	outputTokensKey  = attribute.Key("gen_ai.usage.output_tokens")
	cachedTokensKey  = attribute.Key("gen_ai.usage.cache_read.input_tokens")

	toolKey     = attribute.Key("gen_ai.tool.name")
	toolTypeKey = attribute.Key("gen_ai.tool.type")
	toolCallKey = attribute.Key("gen_ai.tool.call.id")
	errorKey    = attribute.Key("error.type")

	// Contents.
	inputKey     = attribute.Key("gen_ai.input.messages")
	outputKey    = attribute.Key("gen_ai.output.messages")
	argumentsKey = attribute.Key("gen_ai.tool.call.arguments")
	resultKey    = attribute.Key("gen_ai.tool.call.result")

	// Handrail's own.
	statusKey  = attribute.Key("handrail.status")
	verdictKey = attribute.Key("handrail.approval.verdict")
	filesKey   = attribute.Key("handrail.checkpoint.files")
	addedKey   = attribute.Key("handrail.checkpoint.lines_added")
	removedKey = attribute.Key("handrail.checkpoint.lines_removed")
)

// Operations, which begin the names of spans.
const (
	invokeAgent = "invoke_agent"
	chat        = "chat"
	executeTool = "execute_tool"
)

// latest is the value of OTEL_SEMCONV_STABILITY_OPT_IN that asks for the newer names.
const latest = "gen_ai_latest_experimental"
