import { useRef } from 'preact/hooks'
import { api } from '../api'
import { Field, useForm } from '../parts/form'
import { useRequestKey } from '../parts/request-key'
import type { LeadPage } from './use-lead'

/** The form that adds a note. Ctrl+Enter sends it. */
export const AddNote = ({ page }: { page: LeadPage }) => {
  const form = useRef<HTMLFormElement>(null)
  const findKey = useRequestKey()
  const add = async (fields: FormData) => {
    const body = { text: String(fields.get('note')) }
    const params = {
      path: { reference: page.lead.reference },
      header: { 'Idempotency-Key': findKey(body) },
    }
    await api().POST('/manage/leads/{reference}/notes', { params, body })
    findKey.renew()
    form.current!.reset()
    await page.refresh()
  }
  const { onSubmit, errors, failure, isBusy } = useForm(add, ['text'])
  const submitOnEnter = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.current!.requestSubmit()
  }
  return (
    <form ref={form} class="card padded" aria-busy={isBusy} noValidate onSubmit={onSubmit}>
      <Field name="note" label="New note" errors={{ note: errors['text'] ?? [] }}>
        {(attributes) => (
          <textarea
            rows={2}
            placeholder="What was said, what comes next"
            onKeyDown={submitOnEnter}
            {...attributes}
          />
        )}
      </Field>
      {failure}
      <div class="actions">
        <button type="submit">Add note</button>
      </div>
    </form>
  )
}
