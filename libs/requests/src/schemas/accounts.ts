import { Type } from '@sinclair/typebox'
import { text } from '../validation/fields'

/** The fields of a new account. Only operators create accounts. */
export const CreateAccount = Type.Object({ name: text('Name of the account.', 'Clear Windows') })
