/** An event as it is stored. */
export interface StoredEvent {
  id: string
  /** `lead.created` and so on. */
  type: string
  /** The lead's version after the change; null of an event that is of no lead, which has no place in its account's log. */
  leadVersion: number | null
  /** Whether its lead is a test lead. */
  test: boolean
  accountId: number
  accountKey: string
  leadReference: string
  /** What every attempt sends, byte for byte. */
  body: Buffer
  traceparent: string | null
  /** When it happened, ISO 8601; null: when it is stored. */
  createdAt: string | null
  /** Where it is in the stream, which has it until then. */
  streamSequence?: number
}

/** A message that is no event, or one with broken parts; its id as far as it could be read. */
export class UnfitEvent extends Error {
  constructor(
    fault: string,
    readonly eventId?: string,
  ) {
    super(fault)
    this.name = 'UnfitEvent'
  }
}
