"""A server of metrics pages for tests: what it answers can be changed while it runs."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answer:
    """status, type and text of the next answers; how long each takes; what was asked."""

    def __init__(self):
        self.status, self.kind, self.text, self.wait_s, self.drip = (
            200,
            "text/plain; version=0.0.4",
            "",
            0.0,
            False,
        )
        self.paths, self.headers, self.by_path = [], [], {}


@contextmanager
def serving_pages(text=""):
    answer = Answer()
    answer.text = text

    class Asked(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            answer.paths.append(self.path)
            answer.headers.append({name.lower(): value for name, value in self.headers.items()})
            time.sleep(answer.wait_s)
            status, kind, text = answer.by_path.get(self.path, (answer.status, answer.kind, answer.text))
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if answer.drip:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    while answer.drip:
                        self.wfile.write(b"5\r\n# x\n\n\r\n")
                        self.wfile.flush()
                        time.sleep(0.05)
                except OSError:
                    pass
                self.close_connection = True
                return
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            pass

    server = Quiet(("127.0.0.1", 0), Asked)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    answer.port = server.server_port
    answer.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield answer
    finally:
        answer.drip = False
        server.shutdown()
        server.server_close()
