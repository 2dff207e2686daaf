import { ServiceError } from '@leadwire/service-kit'

/** `fault` is why this event can't be stored: by its data, or because its transaction takes too long. */
export type StoreResult = { durable: Promise<unknown>; fault?: never } | { fault: unknown }

/** Whether a statement took longer than it may. */
export const isLate = (error: unknown) => error instanceof ServiceError && error.code === 'late'
