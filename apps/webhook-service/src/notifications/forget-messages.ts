import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MailTarget } from './mail-settings'

/** Makes the function that deletes messages from the folder they were written to. What a mail server took is no longer ours. */
export const forgetMessages =
  (target: MailTarget) =>
  async (eventIds: string[]): Promise<void> => {
    if (!('folder' in target)) return
    await Promise.all(eventIds.map((id) => rm(join(target.folder, `${id}.eml`), { force: true })))
  }
