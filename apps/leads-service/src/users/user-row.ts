import { User } from '@leadwire/contracts'
import { rowMapper } from '../database/row-mapper'

export const USER = rowMapper(User, 'users')
