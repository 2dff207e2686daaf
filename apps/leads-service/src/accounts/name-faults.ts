import type { Faults } from '@leadwire/service-kit'

const MAX_CHARACTERS = 255

/** What is wrong with the name of an account, a user or a token. The command line comes here past the gateway's checks. */
export const nameFaults = (name: string): Faults => {
  if (name.trim() === '') return { name: ['The name field is required.'] }
  if (name.includes('\0')) return { name: ['The name contains characters that are not allowed.'] }
  if ([...name].length > MAX_CHARACTERS)
    return { name: [`The name must not be longer than ${MAX_CHARACTERS} characters.`] }
  return {}
}
