import { isOneLine } from '@leadwire/contracts'
import type { Faults } from '@leadwire/service-kit'

const MAX_LENGTH = 2048

/**
 * What is wrong with an address for webhooks, in words for the one who gave it; empty when it will do.
 * Where it leads to is not checked here: DNS may say something else later, so that is checked at connect time.
 */
export const endpointUrlFaults = (text: string): Faults => {
  if ([...text].length > MAX_LENGTH) return { url: [`must not be longer than ${MAX_LENGTH} characters`] }
  // The URL parser takes tabs and line breaks out without a word.
  if (!isOneLine(text) || !URL.canParse(text)) return { url: ['must be a well-formed URL'] }
  if (!/^https?:\/\//i.test(text)) return { url: ['must begin with http:// or https://'] }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return { url: ['must not carry a user name or a password'] }
  return {}
}
