/** An event as it is stored. */
export interface StoredEvent {
  id: string
  /** `lead.created` and so on. */
  type: string
  /** Whether its lead is a test lead. */
  test: boolean
  accountId: number
  accountKey: string
  leadReference: string
  /** What every attempt sends, byte for byte. */
  body: Buffer
  traceparent: string | null
  /** Where it is in the stream, which has it until then. */
  sequence?: number
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
