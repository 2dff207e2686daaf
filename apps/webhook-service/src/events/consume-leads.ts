import { LEADS_STREAM, LEADS_STREAM_CONFIG, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { type Logger, untilSuccess } from '@leadwire/service-kit'
import {
  AckPolicy,
  type ConsumerMessages,
  JetStreamApiError,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/transport-node'

const STREAM_EXISTS_WITH_OTHER_SETTINGS = 10058

// A copy that was killed leaves what it had pulled unacknowledged for this long; storing takes milliseconds.
const ACK_WAIT_MS = 5000
// How long it takes at most to see that the consumer is gone, or the server another one.
const PULL_EXPIRES_MS = 2000

const ensureConsumer = async (nats: NatsConnection) => {
  const manager = await jetstreamManager(nats, { checkAPI: false })
  try {
    await manager.streams.add(LEADS_STREAM_CONFIG)
  } catch (error) {
    // An operator may have given it other limits or more replicas.
    if (!(error instanceof JetStreamApiError) || error.code !== STREAM_EXISTS_WITH_OTHER_SETTINGS) throw error
  }
  await manager.consumers.add(LEADS_STREAM.name, {
    durable_name: WEBHOOK_CONSUMER,
    filter_subject: LEADS_STREAM.subjects.leadCreated,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: 2000,
  })
  return jetstream(nats).consumers.get(LEADS_STREAM.name, WEBHOOK_CONSUMER)
}

/**
 * Hands every lead event to `take`, for as long as it runs: through restarts of NATS, and when the stream or the
 * consumer is deleted under it, it makes them anew. Answers with what stops it; messages in hand are then for `take`.
 */
export const consumeLeads = (options: {
  nats: NatsConnection
  take: (message: JsMsg) => void
  logger: Logger
}): (() => Promise<void>) => {
  const { nats, take, logger } = options
  const stopping = new AbortController()
  let messages: ConsumerMessages | undefined

  const consume = async () => {
    const consumer = await ensureConsumer(nats)
    stopping.signal.throwIfAborted()
    messages = await consumer.consume({
      callback: take,
      max_messages: 500,
      expires: PULL_EXPIRES_MS,
      abort_on_missing_resource: true,
    })
    const reason = await messages.closed()
    throw reason ?? new Error('the consumer was closed')
  }

  const running = untilSuccess(consume, {
    signal: stopping.signal,
    pauseMs: 250,
    onFailure: (error) => {
      if (!stopping.signal.aborted) logger.warn({ err: error }, 'lead events do not come: trying again')
    },
  }).catch(() => undefined)

  return async () => {
    stopping.abort()
    await messages?.close()
    await running
  }
}
