export interface FileToSend {
  /** The last part of its path. Its extension must agree with its content. */
  fileName: string
  /** Its bytes. In Node `openAsBlob(path)` of `node:fs` reads a file while it is sent. A stream can't be sent again. */
  content: Blob | ReadableStream<Uint8Array>
  /** Called with the bytes of the file that were sent so far. Needs a `fetch` that streams bodies, as Node's does. */
  onProgress?: (sentBytes: number) => void
}

interface Upload extends FileToSend {
  url: string
  headers: Record<string, string>
  fields: Record<string, string>
  signal?: AbortSignal | undefined
}

// As browsers do (RFC 7578, section 4.2; the HTML standard).
const escaped = (text: string) => text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')

const disposition = (name: string, fileName?: string) =>
  `Content-Disposition: form-data; name="${escaped(name)}"${fileName === undefined ? '' : `; filename="${escaped(fileName)}"`}\r\n`

const multipart = (
  { fields, fileName, content, onProgress }: Upload,
  { boundary, onFailure }: { boundary: string; onFailure: (error: unknown) => void },
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  const texts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\n${disposition(name)}\r\n${value}\r\n`,
  )
  const head = `${texts.join('')}--${boundary}\r\n${disposition('file', fileName)}Content-Type: application/octet-stream\r\n\r\n`
  const reader = (content instanceof Blob ? content.stream() : content).getReader()
  let sentBytes = 0
  const sendNext = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await reader.read()
    if (done) {
      controller.enqueue(encoder.encode(`\r\n--${boundary}--\r\n`))
      controller.close()
      return
    }
    sentBytes += value.byteLength
    onProgress?.(sentBytes)
    controller.enqueue(value)
  }
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(head)),
    pull: (controller) =>
      sendNext(controller).catch((error: unknown) => {
        onFailure(error)
        throw error
      }),
    cancel: (reason) => reader.cancel(reason),
  })
}

const formOf = ({ fields, fileName, content }: Upload) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', content as Blob, fileName)
  return form
}

/** 128 random bits. Browsers have `randomUUID` only where a page came over https. */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

/** A request with a file. Without `onProgress` a Blob is sent in a FormData, which every browser supports. */
export const uploadRequest = (upload: Upload): Request => {
  const { url, headers, signal, content, onProgress } = upload
  if (content instanceof Blob && !onProgress)
    return new Request(url, { method: 'POST', ...(signal && { signal }), headers, body: formOf(upload) })
  const boundary = `leadwire-${randomId()}`
  // An error of the file or of onProgress aborts the request, which is not sent again.
  const failed = new AbortController()
  const onFailure = (error: unknown) => failed.abort(error)
  return new Request(url, {
    method: 'POST',
    signal: signal ? AbortSignal.any([signal, failed.signal]) : failed.signal,
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: multipart(upload, { boundary, onFailure }),
    // The standard requires it for a stream. The types of the DOM don't have it yet.
    duplex: 'half',
  } as RequestInit)
}
