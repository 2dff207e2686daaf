import { Token } from '@leadwire/contracts'
import { rowMapper } from '../database/row-mapper'

export const TOKEN = rowMapper(Token, 'tokens')
