import { Account, Token, User } from '@leadwire/contracts'
import { rowMapper } from '../row-mapper'

export const ACCOUNT = rowMapper(Account, 'accounts')
export const TOKEN = rowMapper(Token, 'tokens')
export const USER = rowMapper(User, 'users')
