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

// What a killed process had pulled stays unacknowledged for this long; storing takes milliseconds.
const ACK_WAIT_MS = 5000
// Of all processes. At this limit JetStream delivers nothing more: so it is many times what one process holds of one account.
const MAX_ACK_PENDING = 20_000
// After this time at most, a deleted consumer or a replaced server is noticed.
const PULL_EXPIRES_MS = 2000
// Messages of one pull, of 1 MB at most. With a limit of bytes the client stalls: an event larger than the rest of a pull ends it, and
// the next one follows after two missed heartbeats.
const MAX_PULLED = 64

interface ConsumerOptions {
  nats: NatsConnection
  subject: string
  name: string
  /** How many servers keep the stream; undefined: as many as do now. */
  replicas: number | undefined
  take: (message: JsMsg) => void
  logger: Logger
}

const ensureConsumer = async ({ nats, subject, name, replicas }: ConsumerOptions) => {
  const settings = { ack_wait: nanos(ACK_WAIT_MS), max_ack_pending: MAX_ACK_PENDING, filter_subject: subject }
  const manager = await jetstreamManager(nats, { checkAPI: false })
  await ensureStream(manager, leadsStreamConfig(replicas))
  const { consumers } = manager
  try {
    const durable = { durable_name: name, ack_policy: AckPolicy.Explicit }
    await consumers.add(LEADS_STREAM.name, { ...durable, ...settings })
  } catch (error) {
    // Servers before 2.10 change the settings of one that exists by the call that makes it.
    const exists = error instanceof JetStreamApiError && error.code === CONSUMER_EXISTS_WITH_OTHER_SETTINGS
    if (!exists) throw error
    await consumers.update(LEADS_STREAM.name, name, settings)
  }
  return jetstream(nats).consumers.get(LEADS_STREAM.name, name)
}

/** Passes every message of a subject to `take`, through restarts of NATS and lost streams. Returns the function that stops it. */
export const consumeEvents = (options: ConsumerOptions): (() => Promise<void>) => {
  const { name, take, logger } = options
  const stopping = new AbortController()
  let messages: ConsumerMessages | undefined

  const consume = async () => {
    const consumer = await ensureConsumer(options)
    stopping.signal.throwIfAborted()
    messages = await consumer.consume({
      callback: take,
      max_messages: MAX_PULLED,
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
        logger.warn({ err: error, consumer: name }, 'could not consume events: trying again')
    },
  }).catch(() => undefined)

  return async () => {
    stopping.abort()
    await messages?.close()
    await running
  }
}
