import { isEmail } from '@leadwire/contracts'
import { type FieldErrors, ServiceError, violatedConstraint } from '@leadwire/service-kit'
import { isText } from '../arguments'

/** What is wrong with a user's e-mail. */
export const emailErrors = (email: string): FieldErrors =>
  isEmail(email) && isText(email) ? {} : { email: ['The email must be a valid email address.'] }

/** What a statement that writes an e-mail threw: `invalid` when another user has it, whatever its case. A removed user's is free. */
export const emailFailure = (error: unknown): unknown =>
  violatedConstraint(error) === 'users_email_once_per_account'
    ? ServiceError.invalid({ email: ['The email has already been taken.'] })
    : error
