import { isUuid } from '../arguments'

export interface StoredEvent {
  id: string
  type: string
  /** The lead's version after the change; null of a notification, which is not in its account's log. */
  leadVersion: number | null
  test: boolean
  accountId: number
  accountKey: string
  leadReference: string
  body: Buffer
  traceparent: string | null
  /** When the event happened, ISO 8601; null: when it is stored. */
  createdAt: string | null
  streamSequence?: number
}

/** A message that is no valid event, with its id if it can be read. */
export class InvalidEvent extends Error {
  constructor(
    violation: string,
    readonly eventId?: string,
  ) {
    super(violation)
    this.name = 'InvalidEvent'
  }
}

/** Decodes a message with an event's id. Throws InvalidEvent. */
export const decodeEvent = <Message extends { eventId: string }>(
  codec: { decode(bytes: Uint8Array): Message },
  bytes: Uint8Array,
  violationOf: (event: Message) => string | undefined,
): { event: Message; id: string } => {
  let event: Message
  try {
    event = codec.decode(bytes)
  } catch (error) {
    throw new InvalidEvent(`it is no event: ${(error as Error).message}`)
  }
  if (!isUuid(event.eventId)) throw new InvalidEvent('it has no id')
  const id = event.eventId.toLowerCase()
  const violation = violationOf(event)
  if (violation) throw new InvalidEvent(violation, id)
  return { event, id }
}
