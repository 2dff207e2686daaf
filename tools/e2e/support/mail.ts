import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, type SharedSystem } from '@leadwire/test-kit'
import { type ParsedMail, simpleParser } from 'mailparser'
import type { Tenant } from './stage'

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

const LINK = /\S+\/console#sign-in=(lw_link_[\w-]+)/

/**
 * Waits until a user has got `count` e-mails with a link to sign in, of one subject. Returns the newest of
 * these e-mails with its link.
 */
export const awaitLinkMail = (
  system: Pick<SharedSystem, 'services'>,
  { send }: Tenant,
  { subject, email, count }: { subject: 'sign_in' | 'invitation'; email: string; count: number },
) =>
  eventually(async () => {
    const sent = await send<{ subject: string; status: string; event_id: string; user_email: string }[]>(
      'GET',
      '/manage/notifications',
    )
    const mails = sent.filter(
      (mail) => mail.subject === subject && mail.user_email === email && mail.status === 'delivered',
    )
    expect(mails).toHaveLength(count)
    const { text = '', subject: title, to } = await readMail(system, mails[0]!.event_id)
    const [url, secret] = LINK.exec(text)!
    return { text, title, to: [to].flat()[0]!.text, url, secret: secret! }
  })
