import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SharedSystem } from '@leadwire/test-kit'
import { type ParsedMail, simpleParser } from 'mailparser'

/** Returns the folder into which a system writes its e-mails. */
export const mailFolder = ({ services }: Pick<SharedSystem, 'services'>): string => {
  const { env } = services.find(({ service }) => service === 'webhook-service')!
  return fileURLToPath(env['SMTP_URL']!)
}

/** Reads the e-mail that a system wrote for the event of a notification. */
export const readMail = async (
  system: Pick<SharedSystem, 'services'>,
  eventId: string,
): Promise<ParsedMail> => simpleParser(await readFile(join(mailFolder(system), `${eventId}.eml`)))
