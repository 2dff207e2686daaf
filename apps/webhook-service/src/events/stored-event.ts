/** An event as it is stored. */
export interface StoredEvent {
  id: string
  accountId: number
  accountKey: string
  leadReference: string
  /** What every attempt sends, byte for byte. */
  body: Buffer
  traceparent: string | null
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
