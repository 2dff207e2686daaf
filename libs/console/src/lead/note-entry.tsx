import { useState } from 'preact/hooks'
import { api, readData } from '../api'
import { Action } from '../parts/action'
import { Field, IdPrefix, useForm } from '../parts/form'
import { showNotice } from '../parts/notices'
import { me } from '../session'
import type { Note } from './load-lead'
import type { LeadPage } from './use-lead'

const isOwn = ({ author }: Note): boolean =>
  author !== null && author.type === me.value?.type && author.id === me.value.id

const EditNote = ({ note, page, close }: { note: Note; page: LeadPage; close: () => void }) => {
  const params = { path: { reference: page.lead.reference, id: note.id } }
  const save = async (fields: FormData) => {
    const body = { text: String(fields.get('text')) }
    const changed = await readData(api().PATCH('/manage/leads/{reference}/notes/{id}', { params, body }))
    page.changeRows('notes', (notes) => notes.map((one) => (one.id === note.id ? changed.data : one)))
    await page.refresh()
    close()
  }
  const { onSubmit, errors, failure, isBusy } = useForm(save, ['text'])
  return (
    <form
      class="part"
      aria-label="Edit the note"
      aria-busy={isBusy}
      noValidate
      onSubmit={onSubmit}
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      <IdPrefix.Provider value={`note-${note.id}-`}>
        <Field name="text" label="Text of the note" errors={errors}>
          {(attributes) => <textarea rows={4} defaultValue={note.text} {...attributes} />}
        </Field>
      </IdPrefix.Provider>
      {failure}
      <div class="actions">
        <button type="submit">Save</button>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  )
}

const DeleteNote = ({ note, page }: { note: Note; page: LeadPage }) => {
  const remove = async () => {
    const params = { path: { reference: page.lead.reference, id: note.id } }
    await api().DELETE('/manage/leads/{reference}/notes/{id}', { params })
    page.changeRows('notes', (notes) => notes.filter(({ id }) => id !== note.id))
    showNotice('The note was deleted.')
    await page.refresh()
  }
  const question = { title: 'Delete the note?', yes: 'Delete', content: <p>This can't be undone.</p> }
  return <Action label="Delete" quiet danger run={remove} question={question} />
}

/** The text of a note. Its author can edit and delete it. */
export const NoteEntry = ({ note, page }: { note: Note; page: LeadPage }) => {
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditNote note={note} page={page} close={() => setEditing(false)} />
  return (
    <>
      <p class="lines">{note.text}</p>
      {page.mayEdit && isOwn(note) && (
        <div class="actions">
          <button type="button" class="quiet" onClick={() => setEditing(true)}>
            Edit
          </button>
          <DeleteNote note={note} page={page} />
        </div>
      )}
    </>
  )
}
