import type { Failure } from '@leadwire/contracts'
import { type ErrorCode, ServiceError } from './service-error'

/** A ServiceError as it travels: an item's result in a batch, or the metadata of a failed call. The cause stays here. */
export const failureOf = (error: ServiceError): Failure => ({
  code: error.code,
  detail: error.detail,
  faults: Object.entries(error.faults).map(([field, messages]) => ({ field, messages })),
})

/** The error that `failureOf` packed. */
export const serviceErrorOf = (failure: Failure): ServiceError =>
  new ServiceError(failure.code as ErrorCode, failure.detail, {
    faults: Object.fromEntries(failure.faults.map(({ field, messages }) => [field, messages])),
  })
