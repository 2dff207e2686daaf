import { ServiceError } from '@leadwire/service-kit'

export interface Stored {
  /** Resolves when no crash of the database undoes it. */
  durable: Promise<unknown>
}

/** `fault` is why this event can't be stored: by its data, or because its transaction takes too long. */
export type StoreResult = Stored | { fault: unknown }

/** Whether a statement took longer than it may. */
export const isLate = (error: unknown) => error instanceof ServiceError && error.code === 'late'
