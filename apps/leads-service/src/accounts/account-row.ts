import { Account } from '@leadwire/contracts'
import { rowMapper } from '../database/row-mapper'

export const ACCOUNT = rowMapper(Account, 'accounts')
