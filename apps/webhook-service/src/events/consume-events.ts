import { LEADS_STREAM, leadsStreamConfig } from '@leadwire/contracts'
import { ensureStream, type Logger, untilSuccess } from '@leadwire/service-kit'
import {
  AckPolicy,
  type ConsumerMessages,
  JetStreamApiError,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/transport-node'

const CONSUMER_EXISTS_WITH_OTHER_SETTINGS = 10148

// A copy that was killed leaves what it had pulled unacknowledged for this long; storing takes milliseconds.
const ACK_WAIT_MS = 5000
// What all copies have in hand, and what waits for its time after it was handed back. JetStream delivers nothing more
// when it is reached, to nobody: so it is many times what one copy holds of one account.
const MAX_ACK_PENDING = 20_000
// How long it takes at most to see that the consumer is gone, or the server another one.
const PULL_EXPIRES_MS = 2000
// What is on its way at once, of events of 1 MB at most: 64 MB in the worst case. The client takes a bound of messages or
// one of bytes, not both. One of bytes stalls it: an event that is larger than what is left of a pull ends that pull, and
// the client asks again only when it has missed two heartbeats.
const MAX_ON_THE_WAY = 64

const SETTINGS = {
  ack_wait: nanos(ACK_WAIT_MS),
  max_ack_pending: MAX_ACK_PENDING,
}

const ensureConsumer = async ({
  nats,
  subject,
  name,
  replicas,
}: {
  nats: NatsConnection
  subject: string
  name: string
  replicas: number | undefined
}) => {
  const settings = { ...SETTINGS, filter_subject: subject }
  const manager = await jetstreamManager(nats, { checkAPI: false })
  await ensureStream(manager, leadsStreamConfig(replicas))
  const { consumers } = manager
  try {
    await consumers.add(LEADS_STREAM.name, {
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      ...settings,
    })
  } catch (error) {
    // Servers before 2.10 change the settings of one that exists by the call that makes it.
    const exists = error instanceof JetStreamApiError && error.code === CONSUMER_EXISTS_WITH_OTHER_SETTINGS
    if (!exists) throw error
    await consumers.update(LEADS_STREAM.name, name, settings)
  }
  return jetstream(nats).consumers.get(LEADS_STREAM.name, name)
}

/**
 * Hands every event of a subject to `take`, for as long as it runs: through restarts of NATS, and when the stream or the
 * consumer is deleted under it, it makes them anew. Answers with what stops it; messages in hand are then for `take`.
 */
export const consumeEvents = (options: {
  nats: NatsConnection
  subject: string
  /** The durable consumer's. */
  name: string
  /** How many servers keep the stream; undefined: as many as do now. */
  replicas: number | undefined
  take: (message: JsMsg) => void
  logger: Logger
}): (() => Promise<void>) => {
  const { name, take, logger } = options
  const stopping = new AbortController()
  let messages: ConsumerMessages | undefined

  const consume = async () => {
    const consumer = await ensureConsumer(options)
    stopping.signal.throwIfAborted()
    messages = await consumer.consume({
      callback: take,
      max_messages: MAX_ON_THE_WAY,
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
      if (!stopping.signal.aborted)
        logger.warn({ err: error, consumer: name }, 'events do not come: trying again')
    },
  }).catch(() => undefined)

  return async () => {
    stopping.abort()
    await messages?.close()
    await running
  }
}
