import { api } from '../api'
import { Action } from '../parts/action'
import { formatApiDate } from '../parts/format'
import { showNotice } from '../parts/notices'
import { useRequestKey } from '../parts/request-key'
import { useEntryQuestion } from './entry-fields'
import type { LeadPage } from './use-lead'

const KINDS = {
  appointment: { label: 'Book an appointment', path: '/leads/{reference}/appointments' },
  callback: { label: 'Book a callback', path: '/leads/{reference}/callbacks' },
} as const

/** The button that books an appointment or a callback, with a dialog. */
export const BookEntry = ({ kind, page }: { kind: keyof typeof KINDS; page: LeadPage }) => {
  const { label, path } = KINDS[kind]
  const findKey = useRequestKey()
  const { question, readFields } = useEntryQuestion({ page, title: label, yes: ['Book', 'Book anyway'] })
  const book = async (fields: FormData) => {
    const { date, userId, notify, remind } = readFields(fields)
    const body = { date: formatApiDate(date), user_id: userId, notify, remind }
    const params = {
      path: { reference: page.lead.reference },
      header: { 'Idempotency-Key': findKey(body) },
    }
    await api().POST(path, { params, body })
    findKey.renew()
    showNotice(`The ${kind} was booked.`)
    await page.refresh()
  }
  return <Action label={label} quiet run={book} question={question} />
}
