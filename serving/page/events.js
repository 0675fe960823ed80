// Server-sent events in the body of a reply; EventSource itself can only GET.

// Gives the data of each event as they arrive. Leaving the loop early closes the connection.
export async function* readEvents(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const line = event.split("\n").find((text) => text.startsWith("data: "));
        if (line) yield JSON.parse(line.slice("data: ".length));
      }
    }
  } finally {
    reader.cancel();
  }
}
