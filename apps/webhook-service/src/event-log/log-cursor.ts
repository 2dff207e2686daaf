/**
 * A place in the log of an account: behind the event with this number. `id` is that event's; undefined when no event up to the number
 * was kept as the cursor was made.
 */
export interface Place {
  number: number
  id: string | undefined
  /** Of a reader that gave a sequence: it knows no event to compare. */
  isSequence?: boolean
}

const FORM = /^(\d{1,15})\.([0-9a-f-]{36})?$/

/** The gateway encodes it, as it does all cursors. */
export const cursorOf = ({ number, id = '' }: Place): string => `${number}.${id}`

/** Undefined for what is no cursor. */
export const placeOf = (cursor: string): Place | undefined => {
  const [, number, id] = FORM.exec(cursor) ?? []
  return number === undefined ? undefined : { number: Number(number), id }
}
