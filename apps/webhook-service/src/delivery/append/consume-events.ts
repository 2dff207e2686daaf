import { LEADS_STREAM, leadsStreamConfig } from '@leadwire/contracts'
import { ensureStream, type Logger, limitRepeats, untilSuccess } from '@leadwire/service-kit'
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

/**
 * How long JetStream waits for an acknowledgement. Messages that a killed process had pulled are redelivered
 * after this time.
 */
const ACK_WAIT_MS = 5000
/**
 * The maximum number of unacknowledged messages of all processes together. At this limit, JetStream delivers
 * nothing more for any account. To keep one process from reaching the limit, the limit is a multiple of what
 * one process may have in flight.
 */
const MAX_ACK_PENDING = 20_000
/** How long one pull lasts. The service notices a deleted consumer or a replaced server within this time. */
const PULL_EXPIRES_MS = 2000
/**
 * How many messages one pull requests. A message has at most 1 MB, so a pull delivers at most 64 MB. A pull
 * has no limit in bytes, because such a limit would stall the client: a message larger than the remaining
 * bytes would end the pull, and the next pull would start only after two missed heartbeats.
 */
const MAX_PULLED = 64

interface ConsumerOptions {
  nats: NatsConnection
  subject: string
  name: string
  /** How many servers keep the stream. Undefined leaves the number unchanged. */
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
    // NATS from version 2.10 on rejects `add` if the consumer has other settings. Earlier servers change the
    // settings of the existing consumer instead.
    const exists = error instanceof JetStreamApiError && error.code === CONSUMER_EXISTS_WITH_OTHER_SETTINGS
    if (!exists) throw error
    await consumers.update(LEADS_STREAM.name, name, settings)
  }
  return jetstream(nats).consumers.get(LEADS_STREAM.name, name)
}

/**
 * Passes every message of a subject to `take`. Creates the stream and the consumer, and creates them again
 * after NATS has lost them. `check` rejects before the stream and the consumer are first created. It also
 * rejects after NATS has lost them and creating them again has failed.
 */
export const consumeEvents = (options: ConsumerOptions) => {
  const { name, take } = options
  const failures = limitRepeats(options.logger)
  const stopping = new AbortController()
  let messages: ConsumerMessages | undefined
  let missing: unknown = new Error('not created yet')

  const consume = async () => {
    const consumer = await ensureConsumer(options).catch((error: unknown) => {
      missing = error
      throw error
    })
    missing = undefined
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
        failures.warn({ err: error, consumer: name }, 'could not consume events; retrying')
    },
  }).catch(() => undefined)

  return {
    check: async (): Promise<void> => {
      if (missing !== undefined) throw missing
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await messages?.close()
      await running
    },
  }
}
