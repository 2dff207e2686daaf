import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import {
  type ConsumerInfo,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { OutboxEvent } from './record-events'

const TIMEOUT_MS = 3000
const NOT_FOUND = 404

const CONSUMERS = [WEBHOOK_CONSUMER, NOTIFICATION_CONSUMER]

const consumerOf = (type: OutboxEvent['type']): string =>
  type === 'notification.requested' ? NOTIFICATION_CONSUMER : WEBHOOK_CONSUMER

/** How far stream and consumers were at one time. */
export interface StreamPosition {
  /** Whether what was published before that time, with this sequence number, will not be delivered any more. */
  hasPassed: (event: Pick<OutboxEvent, 'type'> & { sequence: number | null }) => boolean
  /** False while what is still to be delivered fills half of the stream: more would push it out. */
  hasRoom: boolean
}

/** Nothing that was published is there. */
const NO_STREAM: StreamPosition = { hasPassed: () => true, hasRoom: true }

const unlessMissing = (error: unknown): undefined => {
  if (error instanceof JetStreamApiError && error.apiError().code === NOT_FOUND) return undefined
  throw error
}

/** Everything up to it is acknowledged or terminated. */
interface Passed {
  sequence: number
  /** Nothing is left to deliver. */
  isIdle: boolean
}

// The floor of a consumer that filters stays at its own last message.
const passedBy = (consumer: ConsumerInfo | undefined, last: number): Passed => {
  if (!consumer) return { sequence: 0, isIdle: false }
  const isIdle = consumer.num_pending === 0 && consumer.num_ack_pending === 0
  return { sequence: isIdle ? last : consumer.ack_floor.stream_seq, isIdle }
}

const hasRoom = ({ config, state }: StreamInfo, consumers: (ConsumerInfo | undefined)[]): boolean => {
  const toDeliver = Math.max(...consumers.map((consumer) => consumer?.num_pending ?? 0))
  const bytes = state.messages === 0 ? 0 : (state.bytes / state.messages) * toDeliver
  return config.max_bytes <= 0 || bytes <= config.max_bytes / 2
}

const positionIn = async ({ streams, consumers }: JetStreamManager): Promise<StreamPosition> => {
  const stream = await streams.info(LEADS_STREAM.name).catch(unlessMissing)
  if (!stream) return NO_STREAM
  const { first_seq: first, last_seq: last } = stream.state
  // After the stream: who is idle then has passed everything up to `last`.
  const infos = await Promise.all(
    CONSUMERS.map((name) => consumers.info(LEADS_STREAM.name, name).catch(unlessMissing)),
  )
  const passed = new Map(CONSUMERS.map((name, index) => [name, passedBy(infos[index], last)]))
  return {
    // Above the last: the stream was made anew, or lost its end. One that was made anew and has grown past the number brings
    // something else under it, and the consumer passes that.
    hasPassed: ({ type, sequence }) => {
      const consumer = passed.get(consumerOf(type))!
      if (sequence === null) return consumer.isIdle
      return sequence < first || sequence > last || sequence <= consumer.sequence
    },
    hasRoom: hasRoom(stream, infos),
  }
}

/** Makes the function that asks JetStream how far it is. Fails while NATS is unavailable. */
export const createFindPosition = (connection: NatsConnection) => async (): Promise<StreamPosition> =>
  positionIn(await jetstreamManager(connection, { checkAPI: false, timeout: TIMEOUT_MS }))
